// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Of a node that treats its first input slice by slice (a row of a softmax, a plane of a norm, a window of a pool): the slices
/// that chosen elements of output 0 depend on, as a smaller problem of the same node. The axes along which
/// slices lie side by side have extent 1 in it, but for one that counts the slices.
struct NodeSlices {
  Dims dims;                         // of input 0 in the smaller problem
  std::vector<int64_t> from;         // positions in input 0 of its elements, row-major
  std::vector<size_t> by_slice;      // further inputs with one value a slice...
  std::vector<int64_t> from_values;  // ...and which of their values
  std::vector<int64_t> at;           // the chosen elements in the smaller problem's output 0
};

/// Nothing where the operator has no slices, or those of the elements are no small part of the input.
/// `inputs` are the dims of the node's inputs (of input 0 for one that is left out), `axes` the elements of
/// input 1 where that is a list of axes.
std::optional<NodeSlices> slices_of(const Node& node, std::span<const Dims> inputs,
                                    std::span<const int64_t> axes, const Dims& output,
                                    std::span<const int64_t> at);
/// Whether slices_of wants the elements of input 1.
bool takes_axes(const Node& node);

}  // namespace wootz
