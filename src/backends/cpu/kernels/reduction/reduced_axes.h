// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/tailed_view.h"

namespace wootz {

/// The loops of an operator that reduces some axes of its input: over the kept elements and, for each, over
/// the reduced ones. Operand 0 is the input; the others are the arrays of the tail writer.
struct ReductionLoops {
  LoopNest kept, reduced;
  /// Output of the reduced shape (ReduceSum): the tail's arrays move along the kept dims only.
  static ReductionLoops to_reduced(const Dims& dims, const Dims& strides, const std::vector<bool>& mask,
                                   bool keepdims, const TailWriter& tail);
  /// Output of the input's shape (softmax, norms): the tail's arrays move along both. With
  /// `logical_order` the reduced elements come in row-major order whatever the input's strides.
  static ReductionLoops to_same(const Dims& dims, const Dims& strides, const std::vector<bool>& mask,
                                const TailWriter& tail, bool logical_order = false);
};

/// Innermost strides of the nest's operands from the second on.
std::vector<int64_t> tail_inner(const LoopNest& nest);

}  // namespace wootz
