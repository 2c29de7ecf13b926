// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/groups.h"

#include <algorithm>

namespace wootz {
namespace {

/// Values that a node reads, those of its subgraphs' captures included.
template <class F>
void for_each_read(const Node& node, F&& f) {
  for (Value* v : node.inputs())
    if (v) f(v);
  for (Graph* g : node.subgraphs())
    for (Value* v : captures(*g)) f(v);
}

}  // namespace

Groups::Groups(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    index_of_[node.get()] = nodes_.size();
    group_of_[node.get()] = static_cast<int>(groups_.size());
    groups_.push_back({"single", {node.get()}});
    nodes_.push_back(node.get());
  }
}

bool Groups::would_cycle(const std::vector<Node*>& nodes) const {
  std::vector<char> inside(groups_.size(), 0), seen(groups_.size(), 0);
  for (const Node* n : nodes) inside[size_t(group_of(n))] = 1;
  std::vector<int> work;
  bool found = false;
  // A group outside that is read from outside: if it depends on the inside, the path comes back.
  auto visit = [&](int g, bool from_inside) {
    for (const Node* n : groups_[size_t(g)].nodes)
      for_each_read(*n, [&](const Value* v) {
        auto it = v->producer() ? group_of_.find(v->producer()) : group_of_.end();
        if (it == group_of_.end()) return;
        const int p = it->second;
        if (inside[size_t(p)]) {
          found |= !from_inside;
        } else if (!seen[size_t(p)]) {
          seen[size_t(p)] = 1;
          work.push_back(p);
        }
      });
  };
  for (size_t g = 0; g < groups_.size(); ++g)
    if (inside[g]) visit(static_cast<int>(g), true);
  while (!work.empty() && !found) {
    const int g = work.back();
    work.pop_back();
    visit(g, false);
  }
  return found;
}

void Groups::join(const std::vector<Node*>& nodes, std::string kind) {
  const int into = group_of(nodes.front());
  for (const Node* n : nodes) {
    const int from = group_of(n);
    if (from == into) continue;
    for (Node* moved : groups_[size_t(from)].nodes) {
      group_of_[moved] = into;
      groups_[size_t(into)].nodes.push_back(moved);
    }
    groups_[size_t(from)].nodes.clear();
  }
  Group& g = groups_[size_t(into)];
  g.kind = std::move(kind);
  std::sort(g.nodes.begin(), g.nodes.end(), [&](const Node* a, const Node* b) { return index_of(a) < index_of(b); });
}

}  // namespace wootz
