// SPDX-License-Identifier: Apache-2.0
#include "ops/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "ir/element.h"

namespace wootz {
namespace {

// Axes of one element are left out, and 64 axes of two would not fit 64 bits.
constexpr size_t kMaxLoops = 64;

struct Loop {
  int64_t count, to, from;
};

/// Loops with more than one turn, outermost first, neighbours merged where both sides run on without a gap.
size_t merge_loops(std::span<const int64_t> dims, std::span<const int64_t> to, std::span<const int64_t> from,
                   std::array<Loop, kMaxLoops>& loops) {
  size_t n = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    WOOTZ_ASSERT(n < kMaxLoops);
    if (n > 0 && loops[n - 1].to == to[i] * dims[i] && loops[n - 1].from == from[i] * dims[i])
      loops[n - 1] = {loops[n - 1].count * dims[i], to[i], from[i]};
    else
      loops[n++] = {dims[i], to[i], from[i]};
  }
  return n;
}

template <class T>
void copy_innermost(T* to, const T* from, const Loop& loop) {
  if constexpr (std::is_trivially_copyable_v<T>)
    if (loop.to == 1 && loop.from == 1) {
      std::memcpy(to, from, static_cast<size_t>(loop.count) * sizeof(T));
      return;
    }
  for (int64_t i = 0; i < loop.count; ++i) to[i * loop.to] = from[i * loop.from];
}

/// A transposition in squares: each cache line of both sides is used up while it is there.
template <class T>
void copy_squares(T* to, const T* from, const Loop& rows, const Loop& columns) {
  constexpr int64_t kSide = 16;
  for (int64_t j = 0; j < columns.count; j += kSide)
    for (int64_t i = 0; i < rows.count; i += kSide) {
      const int64_t last_row = std::min(rows.count, i + kSide), last = std::min(columns.count, j + kSide);
      for (int64_t c = j; c < last; ++c)
        for (int64_t r = i; r < last_row; ++r)
          to[r * rows.to + c * columns.to] = from[r * rows.from + c * columns.from];
    }
}

template <class T>
void copy_loops(T* to, const T* from, const Loop* loops, size_t n) {
  if (n == 1) return copy_innermost(to, from, loops[0]);
  if (n == 2 && (loops[0].to < loops[1].to || loops[0].from < loops[1].from))
    return copy_squares(to, from, loops[0], loops[1]);
  for (int64_t i = 0; i < loops[0].count; ++i)
    copy_loops(to + i * loops[0].to, from + i * loops[0].from, loops + 1, n - 1);
}

template <class T>
void copy_box(std::span<const int64_t> dims, const T* from, std::span<const int64_t> from_strides, T* to,
              std::span<const int64_t> to_strides) {
  std::array<Loop, kMaxLoops> loops;
  const size_t n = merge_loops(dims, to_strides, from_strides, loops);
  if (n == 0)
    *to = *from;
  else
    copy_loops(to, from, loops.data(), n);
}

}  // namespace

void copy_strided(DType dtype, std::span<const int64_t> dims, const void* from,
                  std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides) {
  for (int64_t d : dims)
    if (d <= 0) return;
  visit_storage(dtype, [&](auto zero) {
    using T = decltype(zero);
    copy_box(dims, static_cast<const T*>(from), from_strides, static_cast<T*>(to), to_strides);
  });
}

void copy_strided(DType dtype, std::span<const int64_t> dims, const void* from, const StridedSide& from_side,
                  void* to, const StridedSide& to_side) {
  for (int64_t d : dims)
    if (d <= 0) return;
  visit_storage(dtype, [&](auto zero) {
    using T = decltype(zero);
    copy_box(dims, static_cast<const T*>(from) + from_side.offset, from_side.strides,
             static_cast<T*>(to) + to_side.offset, to_side.strides);
  });
}

void copy_permuted(DType dtype, std::span<const int64_t> dims, std::span<const int64_t> perm,
                   const void* from, void* to) {
  const Dims strides = contiguous_strides(dims);
  Dims box;
  StridedSide source;
  for (int64_t axis : perm) {
    box.push_back(dims[static_cast<size_t>(axis)]);
    source.strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  copy_strided(dtype, box, from, source, to, {0, contiguous_strides(box)});
}

void copy_elements(DType dtype, const void* from, int64_t from_at, void* to, int64_t to_at, int64_t count) {
  visit_storage(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* source = static_cast<const T*>(from) + from_at;
    T* target = static_cast<T*>(to) + to_at;
    for (int64_t i = 0; i < count; ++i) target[i] = source[i];
  });
}

void fill_elements(const void* from, int64_t from_at, Tensor& to) {
  visit_storage(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T value = static_cast<const T*>(from)[from_at];
    for (int64_t i = 0, n = to.size(); i < n; ++i) to.as<T>()[i] = value;
  });
}

bool next_index(std::span<const int64_t> dims, std::span<int64_t> index) {
  for (size_t axis = dims.size(); axis > 0; --axis) {
    if (++index[axis - 1] < dims[axis - 1]) return true;
    index[axis - 1] = 0;
  }
  return false;
}

int64_t product(std::span<const int64_t> dims, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t i = begin; i < end; ++i) n *= dims[static_cast<size_t>(i)];
  return n;
}

int64_t checked_count(std::span<const int64_t> dims, const char* what) {
  int64_t n = 1;
  for (int64_t d : dims) {
    if (d < 0)
      throw Error(ErrorKind::kInvalidArgument,
                  std::string(what) + ": expected dimensions >= 0, found " + std::to_string(d));
    n = checked_mul(n, d, what, ErrorKind::kInvalidArgument);
  }
  return n;
}

}  // namespace wootz
