// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "ops/elements.h"

namespace wootz {

/// A walk over the elements of a result in runs along which every operand lies side by side or stays where it
/// is, cut into blocks of kElementBlock.
class BroadcastRuns {
 public:
  BroadcastRuns(const Dims& out, std::span<const Dims> operands);

  int64_t blocks() const { return rows_ * blocks_of_row_; }
  /// 1 or 0: how operand k moves within a block.
  int64_t inner_stride(size_t k) const { return inner_strides_[k]; }

  /// Calls f(start, n, at) for blocks [begin, end): n elements from `start` of the result, operand k from
  /// at[k].
  template <class F>
  void for_each_block(int64_t begin, int64_t end, F&& f) const {
    std::vector<int64_t> row_at(inner_strides_.size()), at(inner_strides_.size());
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block / blocks_of_row_, first = block % blocks_of_row_ * kElementBlock;
      if (block == begin || first == 0) offsets_of(row, row_at);
      for (size_t k = 0; k < at.size(); ++k) at[k] = row_at[k] + first * inner_strides_[k];
      f(row * inner_ + first, std::min(kElementBlock, inner_ - first), at.data());
    }
  }

 private:
  void offsets_of(int64_t row, std::vector<int64_t>& at) const;

  Dims outer_;                 // dims before the run
  std::vector<Dims> strides_;  // of each operand along them
  std::vector<int64_t> inner_strides_;
  int64_t inner_ = 1, rows_ = 1, blocks_of_row_ = 1;
};

/// out[i] = element at + i * stride of the tensor, stride 0 or 1.
void load_run(const Tensor& tensor, int64_t at, int64_t stride, size_t n, double* out);
/// The same for integers and bool, exactly; uint64 as its bits.
void load_run(const Tensor& tensor, int64_t at, int64_t stride, size_t n, int64_t* out);

}  // namespace wootz
