// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "ir/graph.h"

namespace wootz {
namespace {

/// Calls f(value) for each value that the node, or a node of its subgraphs, reads.
template <class F>
void for_each_read(const Node& node, F&& f) {
  for (Value* input : node.inputs())
    if (input) f(input);
  for (const Graph* subgraph : node.subgraphs()) {
    for (const auto& inner : subgraph->nodes()) for_each_read(*inner, f);
    for (Value* output : subgraph->outputs())
      if (output) f(output);
  }
}

std::vector<Node*> producers_before(const Node& node) {
  std::vector<Node*> producers;
  for_each_read(node, [&](Value* value) {
    if (value->graph() == node.graph() && value->producer()) producers.push_back(value->producer());
  });
  return producers;
}

}  // namespace

bool Graph::sort_topologically() {
  struct Frame {
    Node* node;
    std::vector<Node*> producers;
    size_t next = 0;
  };
  enum class State { kOpen, kDone };
  std::map<const Node*, State> states;
  std::vector<Node*> order;
  std::vector<Frame> stack;  // explicit: models are deeper than the call stack
  const auto enter = [&](Node* node) {
    states[node] = State::kOpen;
    stack.push_back({node, producers_before(*node)});
  };
  for (const auto& start : nodes_) {
    if (states.contains(start.get())) continue;
    enter(start.get());
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.producers.size()) {
        states[frame.node] = State::kDone;
        order.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      Node* producer = frame.producers[frame.next++];
      const auto it = states.find(producer);
      if (it == states.end())
        enter(producer);
      else if (it->second == State::kOpen)
        return false;
    }
  }
  for (Node* node : order) move_before(node, nullptr);
  for (Node* node : order)
    for (Graph* subgraph : node->subgraphs())
      if (!subgraph->sort_topologically()) return false;
  return true;
}

std::vector<Value*> captures(const Graph& graph) {
  std::set<const Graph*> inside = {&graph};
  std::vector<const Graph*> pending = {&graph};
  while (!pending.empty()) {
    const Graph* next = pending.back();
    pending.pop_back();
    for (const auto& node : next->nodes())
      for (const Graph* subgraph : node->subgraphs())
        if (inside.insert(subgraph).second) pending.push_back(subgraph);
  }
  std::vector<Value*> found;
  std::set<const Value*> seen;
  const auto visit = [&](Value* value) {
    if (value && !inside.contains(value->graph()) && seen.insert(value).second) found.push_back(value);
  };
  for (const auto& node : graph.nodes()) for_each_read(*node, visit);
  for (Value* output : graph.outputs()) visit(output);
  return found;
}

}  // namespace wootz
