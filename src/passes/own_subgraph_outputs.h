// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/graph.h"

namespace wootz {

/// Outputs of subgraphs that are values of an enclosing graph get an Identity in the subgraph, so that every
/// reader of a value is a node. Passes rely on it.
void own_subgraph_outputs(Graph& graph);

}  // namespace wootz
