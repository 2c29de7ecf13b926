// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/graph.h"

namespace wootz {

/// The executable statement of a well-formed graph: order, single writers, consistent uses, types of
/// constants, contents of the right rank, no null where the graph forbids it, subgraphs reading only
/// enclosing graphs. Throws Error(kInternal) that names `after` (the phase that ran) and the first few
/// violations.
void verify_graph(const Graph& graph, const char* after);

}  // namespace wootz
