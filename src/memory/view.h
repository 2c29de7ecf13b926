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

/// The single node inside a region of kind `single`; null for other regions.
const Node* single_node(const Node& region);

/// Output `index` of the movement node as a view of its input 0 at strides `in`, with the output's dims;
/// nothing where elements must be copied. Integer operands (slice bounds) are read from the descriptors'
/// constants.
std::optional<View> view_of_input(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                  const Dims& out_dims);

/// Input `index` of a Concat (or of a reshape-like node) as a view of its output 0.
std::optional<View> view_of_output(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                   const TensorDesc& output);

/// Strides of the same elements under other dims, where no copy is needed.
std::optional<Dims> reshape_strides(const Dims& dims, const Dims& strides, const Dims& to);

}  // namespace wootz
