// SPDX-License-Identifier: Apache-2.0
#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/infer.h"
#include "quantize/weights.h"

namespace wootz {
namespace {

constexpr int kRounds = 8;
constexpr double kLeastFactor = 1e-5;

bool has_constant_weights(const Node& node) {
  const Value* w = node.input(1);
  return node.is("Conv") && w && w->is_constant() && w->type.dtype == DType::kFloat32 &&
         (!node.input(2) || node.input(2)->is_constant());
}

Node* only_reader(const Value* v) {
  if (!v || v->uses().size() != 1 || v->graph()->is_output(v) || v->uses()[0].index != 0 ||
      v->uses()[0].node->graph() != v->graph())
    return nullptr;
  return v->uses()[0].node;
}

/// The convolution that reads a convolution's result, perhaps through a Relu, and nothing else reads it.
Node* next_conv(const Node& conv) {
  Node* next = only_reader(conv.output(0));
  if (next && next->is("Relu")) next = only_reader(next->output(0));
  if (!next || !has_constant_weights(*next)) return nullptr;
  const int64_t groups = next->attributes.get<int64_t>("group", 1);
  const Dims& dims = next->input(1)->constant->dims();
  return groups == 1 || (dims[0] == groups && dims[1] == 1) ? next : nullptr;
}

/// w * factor of the index along the axis, as a new constant of the node.
void multiply_input(Node& node, size_t input, int64_t axis, const std::vector<double>& factors) {
  Value* old = node.input(input);
  Tensor t = old->constant->clone();
  for_each_channel(t.dims(), axis, [&](int64_t at, int64_t c) {
    t.as<float>()[at] = static_cast<float>(double(t.as<float>()[at]) * factors[static_cast<size_t>(c)]);
  });
  Graph& graph = *node.graph();
  node.set_input(input, graph.add_constant(graph.unique_name(old->name + "_equalized"), std::move(t)));
}

std::vector<double> largest_along(const Tensor& t, int64_t axis) {
  std::vector<double> most(static_cast<size_t>(t.dims()[static_cast<size_t>(axis)]), 0);
  for_each_channel(t.dims(), axis, [&](int64_t at, int64_t c) {
    most[static_cast<size_t>(c)] =
        std::max(most[static_cast<size_t>(c)], std::fabs(double(t.as<float>()[at])));
  });
  return most;
}

void equalize_pair(Node& first, Node& second) {
  const bool depthwise = second.attributes.get<int64_t>("group", 1) != 1;
  const std::vector<double> a = largest_along(*first.input(1)->constant, 0),
                            b = largest_along(*second.input(1)->constant, depthwise ? 0 : 1);
  if (a.size() != b.size()) return;
  std::vector<double> down(a.size(), 1), up(a.size(), 1);
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] > 0 && b[i] > 0) {
      up[i] = std::clamp(std::sqrt(a[i] / b[i]), kLeastFactor, 1 / kLeastFactor);
      down[i] = 1 / up[i];
    }
  multiply_input(first, 1, 0, down);
  if (first.input(2)) multiply_input(first, 2, 0, down);
  multiply_input(second, 1, depthwise ? 0 : 1, up);
}

}  // namespace

size_t equalize_convolutions(Graph& graph) {
  size_t pairs = 0;
  for (int round = 0; round < kRounds; ++round) {
    pairs = 0;
    for (const auto& node : graph.nodes())
      if (has_constant_weights(*node))
        if (Node* next = next_conv(*node)) equalize_pair(*node, *next), ++pairs;
    graph.erase_unused_values();
  }
  return pairs;
}

size_t balance_activations(Graph& graph, const std::vector<QuantTarget>& targets,
                           const std::map<std::string, ActivationStats>& stats, double share) {
  std::map<Value*, std::vector<const QuantTarget*>> readers;
  std::vector<Value*> order;
  for (const QuantTarget& t : targets) {
    if (t.is_conv() || !t.x->producer() || !t.x->producer()->is("LayerNormalization")) continue;
    if (readers[t.x].empty()) order.push_back(t.x);
    readers[t.x].push_back(&t);
  }
  size_t balanced = 0;
  for (Value* x : order) {
    const auto it = stats.find(x->name);
    if (it == stats.end() || it->second.largest.empty()) continue;
    const std::vector<double>& most = it->second.largest;
    std::vector<double> weights(most.size(), 0), factors(most.size(), 1), inverse(most.size(), 1);
    for (const QuantTarget* t : readers[x]) {
      const std::vector<double> rows = largest_along(*t->w->constant, t->depth_axis);
      for (size_t i = 0; i < rows.size() && i < weights.size(); ++i)
        weights[i] = std::max(weights[i], rows[i]);
    }
    for (size_t i = 0; i < most.size(); ++i)
      if (most[i] > 0 && weights[i] > 0) {
        factors[i] = std::max(std::pow(most[i], share) / std::pow(weights[i], 1 - share), kLeastFactor);
        inverse[i] = 1 / factors[i];
      }
    Node& norm = *x->producer();
    const bool alone = x->uses().size() == readers[x].size() && !graph.is_output(x);
    const auto along_channels = [&](size_t i) {
      const Value* v = norm.input(i);
      return v && v->is_constant() && v->constant->dims() == Dims{static_cast<int64_t>(most.size())};
    };
    for (const QuantTarget* t : readers[x]) multiply_input(*t->node, 1, t->depth_axis, factors);
    if (alone && along_channels(1) && (!norm.input(2) || along_channels(2))) {
      multiply_input(norm, 1, 0, inverse);
      if (norm.input(2)) multiply_input(norm, 2, 0, inverse);
    } else {
      Tensor t = Tensor::zeros(DType::kFloat32, {static_cast<int64_t>(most.size())});
      for (size_t i = 0; i < most.size(); ++i) t.as<float>()[i] = static_cast<float>(inverse[i]);
      Node* mul = graph.add_node("Mul", {x, graph.add_constant(graph.unique_name(x->name + "_balance"), t)},
                                 readers[x][0]->node);
      mul->name = graph.unique_name(x->name + "_balanced");
      Value* y = mul->add_output(mul->name, Type());
      infer_node(*mul);
      for (const QuantTarget* r : readers[x]) r->node->set_input(0, y);
    }
    ++balanced;
  }
  graph.erase_unused_values();
  return balanced;
}

}  // namespace wootz
