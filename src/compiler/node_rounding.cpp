// SPDX-License-Identifier: Apache-2.0
#include "compiler/node_rounding.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/doubles.h"
#include "ops/infer.h"
#include "runtime/sampled_reference.h"

namespace wootz {
namespace {

constexpr size_t kRoundedElements = 256;
constexpr uint64_t kRoundingSeed = 37;

Tensor in_type(const Tensor& t, DType type) {
  if (t.dtype() == type) return t;
  Tensor same = Tensor::zeros(type, t.dims());
  store_doubles(t.to_doubles(), same);
  return same;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double d = std::fabs(x[i] - y[i]); std::isfinite(d)) most = std::max(most, d);
  return most;
}

NodeRounding judged(const Node& node, std::span<const Datum> inputs, const Tensor& found,
                    const Tensor& model) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<Datum> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!node.input(i)) {
      values.push_back(nullptr);
      continue;
    }
    given.emplace_back(in_type(inputs[i].tensor, node.input(i)->type.dtype));
    const Tensor& t = given.back().tensor;
    Shape shape(t.dims().begin(), t.dims().end());
    values.push_back(graph.add_input("in" + std::to_string(i), Type::tensor(t.dtype(), shape)));
  }
  Node* copy = graph.add_node(node.domain, node.op, values);
  copy->attributes = node.attributes;
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (node.output(i)) copy->add_output("out" + std::to_string(i), Type());
  graph.add_output(copy->output(0));
  infer_graph(graph);
  const std::vector<int64_t> at = sample_positions(model.dims(), kRoundedElements, kRoundingSeed);
  const Bindings none(graph.symbols());
  SampledReference reference(graph, given, none);
  const Tensor want = reference.elements(copy->output(0), at);
  double scale = 0;
  for (double x : model.to_doubles())
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  if (scale == 0) scale = 1;
  return {largest_difference(gather_elements(found, at), want) / scale,
          largest_difference(gather_elements(model, at), want) / scale};
}

}  // namespace

std::optional<NodeRounding> node_rounding(const Node& node, std::span<const Datum> inputs,
                                          const Tensor& found, const Tensor& model) {
  if (!node.subgraphs().empty() || !node.output(0) || found.dims() != model.dims() ||
      !is_float(model.dtype()) || model.size() == 0)
    return std::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (node.input(i) && !inputs[i].tensor.is_defined()) return std::nullopt;
  try {
    return judged(node, inputs, found, model);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace wootz
