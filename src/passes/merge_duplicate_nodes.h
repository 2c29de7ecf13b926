// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/graph.h"

namespace wootz {

/// Nodes of the same op, attributes and inputs become one, and so do equal constants. Random operators and
/// nodes with subgraphs stay apart, and so do writers of graph outputs. Returns how many nodes went.
int merge_duplicate_nodes(Graph& graph);

}  // namespace wootz
