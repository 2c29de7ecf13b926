// SPDX-License-Identifier: Apache-2.0
// Which movements are only another way to look at the same memory.
#pragma once
#include <optional>

#include "device/tactic.h"
#include "ir/graph.h"

namespace wootz {

/// A window on a parent's elements.
struct View {
  int64_t offset = 0;  // elements, from the parent's first
  Dims strides;        // elements
};

/// The single node inside a region of kind `single` whose first operand (all operands of a Concat) and
/// outputs are the region's, in order; null for other regions.
const Node* single_node(const Node& region);

/// The operands of single_node(region) from those of the region: one that the node reads twice is there once.
std::vector<TensorDesc> operands_of(const Node& region, std::span<const TensorDesc> region_inputs);

/// Output `index` of the movement node as a view of its input 0 at strides `in`, with the output's dims;
/// nothing where elements must be copied. `inputs` are the node's: integer operands (slice bounds) are read
/// from the descriptors' constants.
std::optional<View> view_of_input(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                  const Dims& out_dims);

/// Reshape and its spellings (Squeeze, Unsqueeze, Flatten, Identity).
bool is_reshape(const Node& node);

/// Input `index` of a Concat, or input 0 of a reshape or Transpose, as a view of output 0.
std::optional<View> view_of_output(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                   const TensorDesc& output);

/// Strides of the same elements under other dims, where no copy is needed.
std::optional<Dims> reshape_strides(const Dims& dims, const Dims& strides, const Dims& to);

}  // namespace wootz
