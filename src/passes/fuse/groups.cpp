// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/groups.h"

#include <algorithm>

namespace wootz {

Groups::Groups(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    index_of_[node.get()] = nodes_.size();
    group_of_.push_back(static_cast<int>(groups_.size()));
    groups_.push_back({"single", {node.get()}});
    nodes_.push_back(node.get());
    std::vector<size_t>& producers = producers_.emplace_back();
    const auto reads = [&](const Value* v) {
      auto it = v && v->producer() ? index_of_.find(v->producer()) : index_of_.end();
      if (it != index_of_.end()) producers.push_back(it->second);
    };
    for (const Value* v : node->inputs()) reads(v);
    for (const Graph* inner : node->subgraphs())
      for (const Value* v : captures(*inner)) reads(v);
  }
  mark_.assign(groups_.size(), 0);
  reorder();
}

template <class F>
void Groups::for_each_producing_group(int group, F&& f) const {
  for (const Node* n : groups_[size_t(group)].nodes)
    for (size_t p : producers_[index_of(n)]) f(group_of_[p]);
}

/// Depth-first from every group; the graph of groups has no cycle.
void Groups::reorder() {
  position_.assign(groups_.size(), -1);
  std::vector<char> entered(groups_.size(), 0);
  std::vector<std::pair<int, bool>> stack;  // group, whether its producers are done
  int next = 0;
  for (size_t start = 0; start < groups_.size(); ++start) {
    if (groups_[start].nodes.empty()) continue;
    stack.emplace_back(static_cast<int>(start), false);
    while (!stack.empty()) {
      const auto [g, done] = stack.back();
      stack.pop_back();
      if (done) {
        position_[size_t(g)] = next++;
        continue;
      }
      if (entered[size_t(g)]) continue;
      entered[size_t(g)] = 1;
      stack.emplace_back(g, true);
      for_each_producing_group(g, [&](int p) {
        if (!entered[size_t(p)]) stack.emplace_back(p, false);
      });
    }
  }
}

bool Groups::would_cycle(const std::vector<Node*>& nodes) const {
  std::vector<int> inside;
  for (const Node* n : nodes)
    if (std::find(inside.begin(), inside.end(), group_of(n)) == inside.end()) inside.push_back(group_of(n));
  if (inside.size() < 2) return false;
  // What depends on the inside stands behind its first group; nothing before that can be on a path that comes
  // back.
  int first = position_[size_t(inside[0])];
  for (int g : inside) first = std::min(first, position_[size_t(g)]);
  const int seen = ++query_, within = ++query_;
  for (int g : inside) mark_[size_t(g)] = within;
  std::vector<int> work;
  const auto visit = [&](int p) {
    if (mark_[size_t(p)] == seen || mark_[size_t(p)] == within || position_[size_t(p)] < first) return;
    mark_[size_t(p)] = seen;
    work.push_back(p);
  };
  for (int g : inside) for_each_producing_group(g, visit);
  bool found = false;
  while (!work.empty() && !found) {
    const int g = work.back();
    work.pop_back();
    for_each_producing_group(g, [&](int p) {
      found |= mark_[size_t(p)] == within;
      visit(p);
    });
  }
  return found;
}

void Groups::join(const std::vector<Node*>& nodes, std::string kind) {
  const int into = group_of(nodes.front());
  bool joined = false;
  for (const Node* n : nodes) {
    const int from = group_of(n);
    if (from == into) continue;
    joined = true;
    for (Node* moved : groups_[size_t(from)].nodes) {
      group_of_[index_of(moved)] = into;
      groups_[size_t(into)].nodes.push_back(moved);
    }
    groups_[size_t(from)].nodes.clear();
  }
  Group& g = groups_[size_t(into)];
  g.kind = std::move(kind);
  std::sort(g.nodes.begin(), g.nodes.end(),
            [&](const Node* a, const Node* b) { return index_of(a) < index_of(b); });
  if (joined) reorder();
}

}  // namespace wootz
