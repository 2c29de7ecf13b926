// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "backends/cpu/pointwise/loop_nest.h"
#include "base/thread_pool.h"

namespace wootz {

/// A copy between two strided arrays of the same dims, of elements of 1, 2, 4, 8 or 16 bytes whatever their
/// dtype: whole runs where both are contiguous, tiled transposes where they differ in their fastest
/// dimension. Source strides may be 0 (repeated) or negative.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(std::span<const int64_t> dims, Dims from_strides, Dims to_strides, size_t element_bytes);

  /// On the caller and the pool's workers where the amount pays for a fork; pool may be null. Allocates
  /// nothing.
  void run(const void* from, void* to, ThreadPool* pool = nullptr) const noexcept;
  int64_t size() const { return nest_.size(); }

 private:
  void copy_range(const char* from, char* to, int64_t begin, int64_t end) const;
  void transpose_planes(const char* from, char* to, int64_t begin, int64_t end) const;

  LoopNest nest_;  // operand 0: from, operand 1: to
  int64_t bytes_ = 1;
  // Transposed: the plane of the destination's and the source's fastest dims, and the nest of the others.
  bool transposed_ = false;
  int64_t rows_ = 0, columns_ = 0;        // columns are contiguous in the destination, rows in the source
  int64_t from_column_ = 0, to_row_ = 0;  // strides in elements
  LoopNest outer_;
};

}  // namespace wootz
