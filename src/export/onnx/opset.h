// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace wootz::onnx {

/// The opset of each domain that a graph needs, bodies included; that of ai.onnx ("") is at least `least`.
std::map<std::string, int64_t> required_opsets(const Graph& graph, int64_t least);

}  // namespace wootz::onnx
