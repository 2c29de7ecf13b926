// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

/// A loop nest over several operands: dims of size 1 dropped, dims in the order of the leading operand's
/// memory, neighbours merged where every operand allows. The last dim is the innermost; there is always at
/// least one.
struct LoopNest {
  static constexpr int kMaxOperands = 64;
  static constexpr int kMaxDims = 16;

  Dims dims;
  std::vector<Dims> strides;  // of operand k, in elements

  /// `strides[k]` has one stride for each of `dims`; operand `leading` decides the order.
  static LoopNest make(std::span<const int64_t> dims, const std::vector<Dims>& strides, size_t leading);

  int64_t size() const { return element_count(dims); }
  int64_t inner() const { return dims.back(); }

  /// Calls f(offsets, count) for runs along the innermost dim that cover elements [begin, end) in nest order;
  /// offsets[k] is operand k's element offset of the run's first element.
  template <class F>
  void for_each_run(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    const int rank = static_cast<int>(dims.size());
    const int operands = static_cast<int>(strides.size());
    int64_t index[kMaxDims];
    int64_t offsets[kMaxOperands];
    int64_t rest = begin;
    for (int d = rank - 1; d >= 0; --d)
      index[d] = rest % dims[static_cast<size_t>(d)], rest /= dims[static_cast<size_t>(d)];
    for (int k = 0; k < operands; ++k) {
      offsets[k] = 0;
      for (int d = 0; d < rank; ++d)
        offsets[k] += index[d] * strides[static_cast<size_t>(k)][static_cast<size_t>(d)];
    }
    while (begin < end) {
      const int64_t count = std::min(end - begin, dims[static_cast<size_t>(rank - 1)] - index[rank - 1]);
      f(static_cast<const int64_t*>(offsets), count);
      begin += count;
      if (begin >= end) break;
      step(index, offsets, count, rank, operands);
    }
  }

 private:
  void step(int64_t* index, int64_t* offsets, int64_t count, int rank, int operands) const {
    int d = rank - 1;
    index[d] += count;
    for (int k = 0; k < operands; ++k)
      offsets[k] += count * strides[static_cast<size_t>(k)][static_cast<size_t>(d)];
    while (d > 0 && index[d] == dims[static_cast<size_t>(d)]) {
      for (int k = 0; k < operands; ++k)
        offsets[k] += strides[static_cast<size_t>(k)][static_cast<size_t>(d - 1)] -
                      index[d] * strides[static_cast<size_t>(k)][static_cast<size_t>(d)];
      index[d] = 0;
      ++index[--d];
    }
  }
};

/// Strides of an operand broadcast to `dims` (aligned at the last dimension): 0 where it repeats. `fits`
/// turns false when it does not broadcast.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> operand_dims,
                                       std::span<const int64_t> operand_strides,
                                       std::span<const int64_t> dims, bool& fits);

}  // namespace wootz
