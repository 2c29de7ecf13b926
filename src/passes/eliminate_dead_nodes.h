// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/graph.h"

namespace wootz {

/// Drops nodes that no output needs, in subgraphs too, and values that nothing reads. Returns how many nodes.
int eliminate_dead_nodes(Graph& graph);

}  // namespace wootz
