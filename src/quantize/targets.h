// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/quantize.h>
#include "ir/graph.h"

namespace wootz {

/// A product of an activation and constant weights.
struct QuantTarget {
  Node* node = nullptr;
  Value* x = nullptr;
  Value* w = nullptr;
  int64_t weight_axis = 0;   // of the weights' output channels
  int64_t depth_axis = 1;    // of the weights' input channels (of one group)
  int64_t channel_axis = 1;  // of x; from the front
  int64_t groups = 1;

  bool is_conv() const { return node->is("Conv"); }
  int64_t channels() const { return w->constant->dims()[static_cast<size_t>(weight_axis)]; }
};

struct TargetChoice {
  std::vector<QuantTarget> targets;
  std::vector<QuantizedNode> left;  // products that stay float32, and why
};

/// The ONNX node that a product came from; what was folded into it comes first among its origins.
std::string quantized_label(const Node& node);

/// The nodes of the main graph that 8 bits pay for.
TargetChoice choose_targets(const Graph& graph, const QuantizeOptions& options);

}  // namespace wootz
