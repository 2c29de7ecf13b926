// SPDX-License-Identifier: Apache-2.0
// Moving elements of any type between buffers: the whole work of transpose, slice, concat, tile and their
// like.
#pragma once
#include <cstdint>
#include <span>

#include "ir/tensor.h"

namespace wootz {

/// One side of a copy: element `offset + sum(index * stride)`. A stride of 0 repeats, a negative one
/// reverses.
struct StridedSide {
  int64_t offset = 0;
  Dims strides;
};

/// Copies dims-shaped elements between two strided buffers that do not overlap (strides in elements); runs of
/// neighbours as blocks. Allocates nothing.
void copy_strided(DType dtype, std::span<const int64_t> dims, const void* from,
                  std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides);

/// Copies a box of `dims` elements. The caller has made sure that both sides stay inside their buffers.
void copy_strided(DType dtype, std::span<const int64_t> dims, const void* from, const StridedSide& from_side,
                  void* to, const StridedSide& to_side);

/// Transposes a dense box: dim i of the dense result is dim perm[i] of the source.
void copy_permuted(DType dtype, std::span<const int64_t> dims, std::span<const int64_t> perm,
                   const void* from, void* to);

/// Copies `count` neighbouring elements, strings included.
void copy_elements(DType dtype, const void* from, int64_t from_at, void* to, int64_t to_at, int64_t count);

/// Writes element `from_at` of `from` to all of `to`.
void fill_elements(const void* from, int64_t from_at, Tensor& to);

/// Steps a row-major index over `dims`; false after the last one. Start with zeros and a non-empty box.
bool next_index(std::span<const int64_t> dims, std::span<int64_t> index);

/// Product of dims[begin, end).
int64_t product(std::span<const int64_t> dims, int64_t begin, int64_t end);

/// The element count, or kInvalidArgument where a dim is negative or the count overflows.
int64_t checked_count(std::span<const int64_t> dims, const char* what);

}  // namespace wootz
