// SPDX-License-Identifier: Apache-2.0
// What every operator promises by its definition, over the whole registry.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "ir/text.h"
#include "tests/ops/one_node.h"

namespace wootz {
namespace {

/// Operators whose problems cannot be written as samples, with the reason.
const std::map<std::string, std::string>& without_samples() {
  static const std::map<std::string, std::string> reasons = {
      {"wootz.Region", "its meaning is its body; the body's operators have samples"},
  };
  return reasons;
}

bool same(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Datum::Kind::kTensor) return a.tensor.same_bits(b.tensor);
  if (a.elements.size() != b.elements.size()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i)
    if (!same(a.elements[i], b.elements[i])) return false;
  return true;
}

TEST(Registry, EveryOperatorIsComplete) {
  std::set<std::string> unused;
  for (const auto& [name, reason] : without_samples()) unused.insert(name);
  for (const auto& [key, def] : OpRegistry::global().all()) {
    SCOPED_TRACE(full_name(def));
    EXPECT_FALSE(def.doc.empty());
    // Older spellings live until they are canonical.
    if (def.canonicalize && !def.evaluate) continue;
    EXPECT_NE(def.infer, nullptr);
    EXPECT_NE(def.evaluate, nullptr);
    EXPECT_TRUE(def.max_inputs == -1 || def.max_inputs >= def.min_inputs);
    EXPECT_TRUE(def.max_outputs == -1 || def.max_outputs >= def.min_outputs);
    const bool excused = without_samples().contains(full_name(def));
    unused.erase(full_name(def));
    EXPECT_NE(def.samples != nullptr, excused)
        << "expected samples, or a reason in without_samples(), not both";
    if (def.samples) {
      EXPECT_GE(def.samples().size(), def.domain.empty() ? 3u : 1u);
    }
  }
  EXPECT_TRUE(unused.empty()) << "no such operator: " << *unused.begin();
}

TEST(Registry, TextRoundTrip) {
  for_each_sample([](const OpDef& def, const Sample& sample) {
    OneNode one(def, sample, true);
    infer_graph(one.graph);
    TextOptions options;
    options.max_constant = 1 << 20;
    const std::string text = to_text(one.graph, options);
    const std::unique_ptr<Graph> parsed = graph_from_text(text);
    EXPECT_EQ(to_text(*parsed, options), text);
    if (!def.deterministic) return;
    const std::vector<Datum> before = evaluate_graph(one.graph, one.inputs),
                             after = evaluate_graph(*parsed, one.inputs);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same(before[i], after[i])) << text;
  });
}

TEST(Registry, ElementsAgreeWithEvaluation) {
  for_each_sample([](const OpDef& def, const Sample& sample) {
    if (!def.evaluate_elements) return;
    OneNode one(def, sample, false);
    std::vector<const Datum*> inputs;
    for (const Datum& input : sample.inputs)
      inputs.push_back(input.kind == Datum::Kind::kNone ? nullptr : &input);
    const std::vector<Datum> outputs = evaluate_node(*one.node, inputs);
    const std::vector<double> expected = outputs[0].tensor.to_doubles();
    std::vector<int64_t> at(expected.size());
    for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<int64_t>(at.size() - 1 - i);
    std::vector<double> found(at.size());
    std::vector<Datum> scratch(static_cast<size_t>(sample.output_count));
    EvalContext context(*one.node, inputs, scratch);
    def.evaluate_elements(context, at, found);
    for (size_t i = 0; i < at.size(); ++i) {
      const double want = expected[static_cast<size_t>(at[i])];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(found[i]));
      } else if (std::isinf(want))
        EXPECT_GE(std::fabs(found[i]), 65504.0);
      else
        EXPECT_NEAR(found[i], want, 1e-5 + 1e-2 * std::fabs(want)) << "element " << at[i];
    }
  });
}

TEST(Registry, OutputsFillMemoryThatTheCallerGives) {
  for_each_sample([](const OpDef& def, const Sample& sample) {
    OneNode one(def, sample, false);
    infer_graph(one.graph);
    std::vector<const Datum*> inputs;
    for (const Datum& input : sample.inputs)
      inputs.push_back(input.kind == Datum::Kind::kNone ? nullptr : &input);
    // Results of bodies, and elements of sequences and optionals, come as they are (EvalContext::set_output);
    // whoever gave memory copies them.
    const bool passes_on = !one.node->subgraphs().empty() || def.domain == "wootz" ||
                           def.name == "SequenceAt" || def.name == "OptionalGetElement";
    if (!def.deterministic || passes_on) return;
    const std::vector<Datum> expected = evaluate_node(*one.node, inputs);
    std::vector<Datum> outputs(expected.size());
    std::vector<const void*> memory;
    for (size_t i = 0; i < outputs.size(); ++i) {
      memory.push_back(nullptr);
      const Tensor& tensor = expected[i].tensor;
      if (expected[i].kind != Datum::Kind::kTensor || tensor.dtype() == DType::kString) continue;
      outputs[i] = Tensor::zeros(tensor.dtype(), tensor.dims());
      // Whatever lay there before must not show, bool and float8 bytes included.
      if (tensor.size_bytes() > 0) std::memset(outputs[i].tensor.data(), 1, tensor.size_bytes());
      memory.back() = outputs[i].tensor.data();
    }
    EvalContext context(*one.node, inputs, outputs);
    def.evaluate(context);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(same(outputs[i], expected[i])) << "output " << i;
      if (memory[i]) {
        EXPECT_EQ(outputs[i].tensor.data(), memory[i]) << "output " << i << " is elsewhere";
      }
    }
  });
}

}  // namespace
}  // namespace wootz
