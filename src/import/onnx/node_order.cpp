// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_order.h"

#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace wootz::onnx {
namespace {

using Names = std::vector<std::string_view>;

void add_free_names(const GraphView& graph, Names& free);

void add_captured_names(const NodeView& node, Names& names) {
  for (const AttributeView& attribute : node.attributes)
    for (const GraphView& graph : attribute.graphs) add_free_names(graph, names);
}

/// A name is read from outside where nothing in the graph has defined it so far.
void add_free_names(const GraphView& graph, Names& free) {
  std::unordered_set<std::string_view> defined;
  for (const ValueInfoView& input : graph.inputs) defined.insert(input.name);
  for (const TensorView& tensor : graph.initializers) defined.insert(tensor.name);
  for (const SparseTensorView& tensor : graph.sparse_initializers) defined.insert(tensor.values.name);
  for (const NodeView& node : graph.nodes) {
    Names reads = node.inputs;
    add_captured_names(node, reads);
    for (const std::string_view name : reads)
      if (!name.empty() && !defined.contains(name)) free.push_back(name);
    defined.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const ValueInfoView& output : graph.outputs)
    if (!defined.contains(output.name)) free.push_back(output.name);
}

}  // namespace

Names captured_names(const NodeView& node) {
  Names names;
  add_captured_names(node, names);
  return names;
}

NodeOrder order_nodes(std::span<const NodeView> nodes,
                      const std::function<bool(std::string_view)>& is_visible) {
  std::unordered_map<std::string_view, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string_view name : nodes[i].outputs)
      if (!name.empty()) producer.emplace(name, i);

  bool is_sorted = true;
  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> waiting(nodes.size(), 0);  // producers that a node still waits for
  for (size_t i = 0; i < nodes.size(); ++i) {
    Names reads = nodes[i].inputs;
    add_captured_names(nodes[i], reads);
    for (const std::string_view name : reads) {
      const auto it = producer.find(name);
      if (it == producer.end() || (it->second >= i && is_visible(name))) continue;
      is_sorted = is_sorted && it->second < i;
      readers[it->second].push_back(i);
      ++waiting[i];
    }
  }

  NodeOrder order;
  if (is_sorted) {
    order.sorted.resize(nodes.size());
    std::iota(order.sorted.begin(), order.sorted.end(), size_t{0});
    return order;
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    order.sorted.push_back(i);
    for (const size_t reader : readers[i])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] > 0) order.in_cycle.push_back(i);
  return order;
}

}  // namespace wootz::onnx
