// SPDX-License-Identifier: Apache-2.0
#include "passes/hoist_loop_states.h"

#include <algorithm>

namespace wootz {
namespace {

/// The state is the loop's input 2 + i and output i, the body's input 2 + i and output 1 + i.
bool hoist(Node& loop, Graph& body, size_t i, PassContext& context) {
  Value* initial = loop.input(2 + i);
  Value *inside = body.inputs()[2 + i], *after = loop.output(i);
  if (!initial || !initial->type.is_tensor() || body.outputs()[1 + i] != inside) return false;
  const bool is_read = !inside->uses().empty();
  const bool is_read_after = after && !after->uses().empty() && !loop.graph()->is_output(after);
  if ((!is_read && !is_read_after) || !context.allow_patch("loop(unchanged state) => initial value"))
    return false;
  const std::vector<Use> uses(inside->uses().begin(), inside->uses().end());
  for (const Use& use : uses) use.node->set_input(static_cast<size_t>(use.index), initial);
  if (is_read_after) loop.graph()->replace_uses(after, initial);
  return true;
}

bool run_hoist(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (Graph* inner : node->subgraphs()) changed |= run_hoist(*inner, context);
    if (!node->is("Loop")) continue;
    Graph& body = *node->attributes.require<GraphPtr>("body");
    for (size_t i = 0; i + 2 < node->inputs().size(); ++i) changed |= hoist(*node, body, i, context);
  }
  return changed;
}

}  // namespace

Pass hoist_loop_states() {
  return {"hoist_loop_states", "A Loop's state that never changes is read where it came from.", run_hoist};
}

}  // namespace wootz
