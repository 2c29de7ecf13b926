// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ir/graph.h"

namespace wootz {

/// Whether a glob pattern (`*`, `?`, `[..]`) matches the node's operator, name, an ONNX origin or an output.
bool matches_node(const std::string& pattern, const Node& node);

}  // namespace wootz
