// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Makes inner values outputs of the graph. A mark is a name, or a pattern with * and ? (fnmatch) that takes
/// every tensor it matches, in the graph's order; names are tried first, since ONNX names may hold such
/// characters. Throws Error(kInvalidArgument) for a mark that nothing matches.
void mark_values(Graph& graph, const std::vector<std::string>& marks);

}  // namespace wootz
