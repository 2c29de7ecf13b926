// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/reduction/reduced_axes.h"

namespace wootz {
namespace {

/// The dims where mask is `wanted`, of each array.
LoopNest nest_of(const Dims& dims, const std::vector<Dims>& strides, const std::vector<bool>& mask,
                 bool wanted, size_t leading) {
  Dims part;
  std::vector<Dims> parts(strides.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (mask[d] != wanted) continue;
    part.push_back(dims[d]);
    for (size_t k = 0; k < strides.size(); ++k) parts[k].push_back(strides[k][d]);
  }
  return LoopNest::make(part, parts, leading);
}

}  // namespace

ReductionLoops ReductionLoops::to_reduced(const Dims& dims, const Dims& strides,
                                          const std::vector<bool>& mask, bool keepdims,
                                          const TailWriter& tail) {
  std::vector<Dims> arrays = {strides};
  for (const Dims& own : tail.strides()) {
    Dims& over_input = arrays.emplace_back(dims.size(), 0);
    size_t next = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!mask[d]) over_input[d] = own[next];
      if (!mask[d] || keepdims) ++next;
    }
  }
  return {nest_of(dims, arrays, mask, false, arrays.size() - 1), nest_of(dims, {strides}, mask, true, 0)};
}

ReductionLoops ReductionLoops::to_same(const Dims& dims, const Dims& strides, const std::vector<bool>& mask,
                                       const TailWriter& tail, bool logical_order) {
  std::vector<Dims> arrays = {strides};
  for (const Dims& own : tail.strides()) arrays.push_back(own);
  ReductionLoops loops{nest_of(dims, arrays, mask, false, arrays.size() - 1), {}};
  if (!logical_order) {
    loops.reduced = nest_of(dims, arrays, mask, true, 0);
    return loops;
  }
  arrays.push_back(contiguous_strides(dims));
  loops.reduced = nest_of(dims, arrays, mask, true, arrays.size() - 1);
  loops.reduced.strides.pop_back();
  return loops;
}

std::vector<int64_t> tail_inner(const LoopNest& nest) {
  std::vector<int64_t> inner;
  for (size_t k = 1; k < nest.strides.size(); ++k) inner.push_back(nest.strides[k].back());
  return inner;
}

}  // namespace wootz
