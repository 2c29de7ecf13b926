// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "passes/fuse/grow.h"
#include "passes/fuse/missed.h"
#include "passes/pattern/match.h"

namespace wootz {
namespace {

constexpr size_t kMaxNodes = 48;     // of one scalar program
constexpr size_t kMaxOperands = 24;  // operands and results of one region

/// Values that cross the border of the joined group.
size_t border(const std::vector<Node*>& nodes) {
  std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::unordered_set<const Value*> crossing;
  for (const Node* n : nodes) {
    for (const Value* v : n->inputs())
      if (v && !inside.contains(v->producer())) crossing.insert(v);
    const Value* out = n->output(0);
    for (const Use& u : out->uses())
      if (!inside.contains(u.node)) crossing.insert(out);
    if (out->graph()->is_output(out)) crossing.insert(out);
  }
  return crossing.size();
}

Missed refusal(const Groups& groups, const std::vector<Node*>& joined, const Value* a, const Value* b) {
  if (!same_shape(a, b)) return Missed::kShape;
  if (a->layout != b->layout) return Missed::kLayout;
  if (joined.size() > kMaxNodes) return Missed::kTooLong;
  if (border(joined) > kMaxOperands) return Missed::kTooManyOperands;
  return groups.would_cycle(joined) ? Missed::kCycle : Missed::kNothing;
}

}  // namespace

void grow_pointwise(Groups& groups, const SizeModel& sizes, PassContext& context) {
  for (Node* node : groups.nodes()) {
    if (!is_pointwise(*node) || (groups[groups.group_of(node)].nodes.size() > 1)) continue;
    groups.join({node}, "pointwise");
    for (const Value* v : node->inputs()) {
      Node* producer = v ? v->producer() : nullptr;
      if (!producer || producer->graph() != node->graph() ||
          groups.group_of(producer) == groups.group_of(node))
        continue;
      const Group& before = groups[groups.group_of(producer)];
      if (before.kind != "pointwise") continue;
      std::vector<Node*> joined = before.nodes;
      const std::vector<Node*>& own = groups[groups.group_of(node)].nodes;
      joined.insert(joined.end(), own.begin(), own.end());
      const Missed why = refusal(groups, joined, before.nodes.front()->output(0), node->output(0));
      if (why == Missed::kNothing)
        groups.join(joined, "pointwise");
      else
        tell_missed(context, sizes, {node, producer, before.nodes, why}, nullptr);
    }
  }
}

}  // namespace wootz
