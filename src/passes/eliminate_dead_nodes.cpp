// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_dead_nodes.h"

#include "passes/pattern/patch.h"

namespace wootz {

int eliminate_dead_nodes(Graph& graph) {
  std::vector<Node*> dead;
  for (const auto& node : graph.nodes())
    if (!is_live(*node)) dead.push_back(node.get());
  int erased = erase_dead(dead);
  for (const auto& node : graph.nodes())
    for (Graph* inner : node->subgraphs()) erased += eliminate_dead_nodes(*inner);
  graph.erase_unused_values();
  return erased;
}

}  // namespace wootz
