// SPDX-License-Identifier: Apache-2.0
// Which type each node gets, and why.
#pragma once
#include <string>
#include <unordered_map>

#include "passes/pass.h"

namespace wootz {

struct NodeType {
  DType type = DType::kFloat32;
  std::string reason;  // of float32, or of an override
  bool forced = false;
};

struct TypeChoice {
  std::unordered_map<const Node*, NodeType> nodes;  // those that touch float32 tensors
  DType of(const Node* node) const {
    const auto it = nodes.find(node);
    return it == nodes.end() ? DType::kFloat32 : it->second.type;
  }
};

/// Products get the low type; what lies between them follows unless a rule, a constant or a measured range
/// forbids it; what lies between products and the graph's inputs and outputs stays float32. `few_bits_of_16`:
/// whether the target multiplies weights of few bits by 16-bit rows. Throws kInvalidArgument where an
/// override's pattern matches no node.
TypeChoice choose_types(const Graph& graph, const PrecisionOptions& options, bool few_bits_of_16);

}  // namespace wootz
