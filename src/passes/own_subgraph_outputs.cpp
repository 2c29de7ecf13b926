// SPDX-License-Identifier: Apache-2.0
#include "passes/own_subgraph_outputs.h"

namespace wootz {

void own_subgraph_outputs(Graph& graph) {
  for (const auto& node : graph.nodes())
    for (Graph* inner : node->subgraphs()) {
      for (size_t i = 0; i < inner->outputs().size(); ++i) {
        Value* v = inner->outputs()[i];
        if (!v || v->graph() == inner) continue;
        Node* identity = inner->add_node("Identity", {v});
        Value* copy = identity->add_output(inner->unique_name(v->name), v->type);
        copy->contents = v->contents;
        inner->set_output(i, copy);
      }
      own_subgraph_outputs(*inner);
    }
}

}  // namespace wootz
