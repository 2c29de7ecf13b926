// SPDX-License-Identifier: Apache-2.0
// Runs a pass over a graph in text form and compares with the expected text; checks that a second run changes
// nothing and that both graphs compute the same on random inputs by the references.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ir/element.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/eliminate_dead_nodes.h"
#include "passes/merge_duplicate_nodes.h"
#include "passes/pass_manager.h"

namespace wootz::pass_tests {

struct Case {
  std::string name;
  std::string before;
  std::string after;  // empty: the pass must leave the graph as it is
};

inline TargetTraits test_target() {
  TargetTraits t;
  t.name = "test";
  t.flops_per_second = 1e11;
  t.bytes_per_second = 1e10;
  t.launch_seconds = 1e-6;
  t.cache_bytes = 1 << 20;
  t.multiplies_integers = t.quantizes_in_regions = true;
  return t;
}

inline std::unique_ptr<Graph> read_graph(const std::string& text) {
  std::unique_ptr<Graph> graph = graph_from_text(text);
  infer_graph(*graph);
  verify_graph(*graph, "reading");
  return graph;
}

/// Text without names, after the clean-up that the pass manager does.
inline std::string canonical_text(Graph& graph) {
  eliminate_dead_nodes(graph);
  merge_duplicate_nodes(graph);
  return to_text(graph, {.names = false, .max_constant = 64});
}

/// Random inputs; symbol number i is bound to 2 + i % 3.
inline std::vector<Datum> random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> real(-3, 3);
  Bindings bindings(graph.symbols());
  for (size_t i = 0; i < graph.symbols().size(); ++i)
    if (graph.symbols().at(SymbolId(i)).kind == Symbol::Kind::kInput)
      bindings.bind(SymbolId(i), 2 + int64_t(i) % 3);
  std::vector<Datum> inputs;
  for (const Value* v : graph.inputs()) {
    Dims dims;
    for (const Dim& d : *v->type.shape) dims.push_back(*bindings.evaluate(d));
    Tensor t = Tensor::zeros(v->type.dtype, dims);
    visit_numeric(t.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < t.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>)
          t.as<T>()[i] = real(engine) > 0;
        else if constexpr (std::is_constructible_v<T, float> && !std::is_integral_v<T>)
          t.as<T>()[i] = T(real(engine));
        else
          t.as<T>()[i] = T(int64_t(std::abs(real(engine))));
      }
    });
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

inline void expect_same_results(const Graph& a, const Graph& b, double tolerance) {
  const std::vector<Datum> inputs = random_inputs(a, 7);
  const std::vector<Datum> x = evaluate_graph(a, inputs), y = evaluate_graph(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t o = 0; o < x.size(); ++o) {
    ASSERT_EQ(x[o].tensor.dims(), y[o].tensor.dims());
    const std::vector<double> p = x[o].tensor.to_doubles(), q = y[o].tensor.to_doubles();
    double scale = 1e-3;
    for (double v : p)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]))) continue;
      ASSERT_NEAR(p[i], q[i], tolerance * scale) << "output " << o << " element " << i;
    }
  }
}

inline void check_case(const Pass& pass, const Case& c, double tolerance = 1e-5,
                       const TargetTraits& target = test_target()) {
  SCOPED_TRACE(c.name);
  const std::unique_ptr<Graph> original = read_graph(c.before);
  const std::unique_ptr<Graph> graph = read_graph(c.before);
  const std::string before = canonical_text(*graph);
  PassContext context(target, {});
  const bool changed = run_pass(*graph, pass, context);
  const std::string found = canonical_text(*graph);
  if (c.after.empty()) {
    EXPECT_EQ(found, before);
  } else {
    EXPECT_TRUE(changed);
    EXPECT_EQ(found, canonical_text(*read_graph(c.after)));
  }
  PassContext again(target, {});
  run_pass(*graph, pass, again);
  EXPECT_EQ(canonical_text(*graph), found) << "a second run changed the graph";
  expect_same_results(*original, *graph, tolerance);
}

inline void check_cases(const Pass& pass, const std::vector<Case>& cases, double tolerance = 1e-5,
                        const TargetTraits& target = test_target()) {
  for (const Case& c : cases) check_case(pass, c, tolerance, target);
}

}  // namespace wootz::pass_tests
