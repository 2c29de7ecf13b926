// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "import/onnx/model.h"

namespace wootz::onnx {

/// Names that the graphs in a node's attributes read from the graphs around them.
std::vector<std::string_view> captured_names(const NodeView& node);

struct NodeOrder {
  std::vector<size_t> sorted;    // indices; producers first, the file's order where it allows that
  std::vector<size_t> in_cycle;  // nodes that are on a cycle or behind one
};
/// `is_visible` tells which names exist without these nodes: inputs, initializers, values of the graphs
/// around.
NodeOrder order_nodes(std::span<const NodeView> nodes,
                      const std::function<bool(std::string_view)>& is_visible);

}  // namespace wootz::onnx
