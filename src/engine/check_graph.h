// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "ir/graph.h"

namespace wootz {

/// Whether the graph of an engine file says the same everywhere: it is well formed, every operator takes what
/// its node gives it, and the types in the file are those that inference finds, with equal sizes at the tuned
/// shapes (dims by input name). Throws Error otherwise. Kernels and views count on all of this.
void check_graph(const Graph& graph, const std::map<std::string, Dims>& tuned_shapes);

}  // namespace wootz
