// SPDX-License-Identifier: Apache-2.0
// The partition of a graph's nodes into groups that become regions.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace wootz {

struct Group {
  std::string kind = "single";  // as in docs/regions.md
  std::vector<Node*> nodes;     // in graph order
};

/// Starts with every node alone. Groups stay convex: the graph of groups has no cycle.
class Groups {
 public:
  explicit Groups(Graph& graph);

  std::vector<Group>& all() { return groups_; }  // merged ones are empty
  int group_of(const Node* node) const { return group_of_[index_of(node)]; }
  Group& operator[](int g) { return groups_[size_t(g)]; }
  const Group& operator[](int g) const { return groups_[size_t(g)]; }
  size_t index_of(const Node* node) const { return index_of_.at(node); }
  const std::vector<Node*>& nodes() const { return nodes_; }

  /// Whether joining these nodes' groups would make a path that leaves and comes back.
  bool would_cycle(const std::vector<Node*>& nodes) const;
  /// Joins the groups of the nodes into that of the first; the result has `kind`.
  void join(const std::vector<Node*>& nodes, std::string kind);

 private:
  template <class F>
  void for_each_producing_group(int group, F&& f) const;
  void reorder();

  std::vector<Node*> nodes_;  // in graph order
  std::unordered_map<const Node*, size_t> index_of_;
  std::vector<std::vector<size_t>> producers_;  // of each node, by index
  std::vector<int> group_of_;                   // of each node
  std::vector<Group> groups_;
  std::vector<int> position_;      // of each group in an order where producers come first
  mutable std::vector<int> mark_;  // of each group: the query that saw it
  mutable int query_ = 0;
};

}  // namespace wootz
