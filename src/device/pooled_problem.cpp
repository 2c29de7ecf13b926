// SPDX-License-Identifier: Apache-2.0
#include "device/pooled_problem.h"

#include <algorithm>

#include "ops/nn/conv.h"

namespace wootz {
namespace {

bool are_all(const Node& node, const char* attribute, int64_t expected) {
  const auto values = node.attributes.get<Ints>(attribute, {});
  return std::all_of(values.begin(), values.end(), [&](int64_t x) { return x == expected; });
}

/// PooledProblem::window of the node; 0 for others.
int64_t window_of(const Node& pool) {
  if (!pool.is("MaxPool") || pool.outputs().size() != 1 || !are_all(pool, "dilations", 1) ||
      pool.attributes.get<Ints>("strides", {1, 1}) != Ints{2, 2} ||
      pool.attributes.get<std::string>("auto_pad", "NOTSET") != "NOTSET")
    return 0;
  const Ints kernel = pool.attributes.get<Ints>("kernel_shape", {}),
             pads = pool.attributes.get<Ints>("pads", {});
  if (kernel == Ints{2, 2} && are_all(pool, "pads", 0)) return 2;
  const bool floors = pool.attributes.get<int64_t>("ceil_mode", 0) == 0;
  return kernel == Ints{3, 3} && pads == Ints{1, 1, 1, 1} && floors ? 3 : 0;
}

std::optional<Dims> convolved_dims(const Graph& body, const Problem& problem) {
  for (const auto& node : body.nodes()) {
    if (!node->is("Conv")) continue;
    const Value* source = node->input(0);
    for (const Node* before = source->producer();
         before && (before->is("Cast") || before->is("wootz", "Relayout")); before = source->producer())
      source = before->input(0);
    const int x = body_input_index(body, source), w = body_input_index(body, node->input(1));
    if (x < 0 || w < 0) return std::nullopt;
    const Dims &from = problem.inputs[static_cast<size_t>(x)].dims,
               &filter = problem.inputs[static_cast<size_t>(w)].dims;
    if (from.size() != 4) return std::nullopt;
    const Window window = conv_window(read_attributes<ConvAttributes>(node->attributes), from, filter);
    return Dims{from[0], filter[0], window.output[0], window.output[1]};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PooledProblem::make(const Problem& problem, PooledProblem& pooled) {
  if (problem.outputs.size() != 1) return "more than one result";
  const Node* last = problem.body().outputs()[0]->producer();
  pooled.window = last ? window_of(*last) : 0;
  if (pooled.window == 0) return "no pool in steps of 2 behind a convolution";
  pooled.graph = std::make_unique<Graph>();
  const GraphPtr body = problem.body().clone(pooled.graph->shared_symbols(), pooled.graph.get());
  Node* const pool = body->outputs()[0]->producer();
  Value* const y = pool->input(0);
  const auto dims = convolved_dims(*body, problem);
  if (!y->producer() || y->uses().size() != 1 || !dims) return "no convolution before the pool";
  body->clear_outputs();
  body->add_output(y);
  body->erase(pool);
  body->erase_unused_values();
  Node* region = pooled.graph->add_node(kRegionDomain, kRegionOp, {});
  region->attributes = problem.region->attributes;
  region->attributes.set("body", body);
  pooled.plain = problem;
  pooled.plain.region = region;
  pooled.result = problem.outputs[0];
  const Dims& d = *dims;
  pooled.plain.outputs[0].dims = d;
  pooled.plain.outputs[0].strides = {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  const Dims& r = pooled.result.dims;
  const auto halves = [](int64_t whole, int64_t half) {
    return half == whole / 2 || half == (whole + 1) / 2;
  };
  if (r.size() != 4 || r[0] != d[0] || r[1] != d[1] || !halves(d[2], r[2]) || !halves(d[3], r[3]))
    return "a pool of other windows";
  return std::nullopt;
}

}  // namespace wootz
