// SPDX-License-Identifier: Apache-2.0
#include "ops/strided_copy.h"

#include <string>

#include "base/check.h"
#include "ir/element.h"

namespace wootz {
namespace {

template <class T>
void copy_rows(std::span<const int64_t> dims, const T* from, const StridedSide& from_side, T* to,
               const StridedSide& to_side) {
  const size_t outer = dims.empty() ? 0 : dims.size() - 1;
  const int64_t count = dims.empty() ? 1 : dims.back();
  const int64_t from_step = dims.empty() ? 0 : from_side.strides[outer];
  const int64_t to_step = dims.empty() ? 0 : to_side.strides[outer];
  int64_t from_at = from_side.offset, to_at = to_side.offset;
  Dims index(outer, 0);
  for (;;) {
    for (int64_t i = 0; i < count; ++i) to[to_at + i * to_step] = from[from_at + i * from_step];
    size_t axis = outer;
    while (axis > 0) {
      --axis;
      from_at += from_side.strides[axis];
      to_at += to_side.strides[axis];
      if (++index[axis] < dims[axis]) break;
      from_at -= from_side.strides[axis] * dims[axis];
      to_at -= to_side.strides[axis] * dims[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace

void copy_strided(DType dtype, std::span<const int64_t> dims, const void* from, const StridedSide& from_side,
                  void* to, const StridedSide& to_side) {
  for (int64_t d : dims)
    if (d <= 0) return;
  visit_storage(dtype, [&](auto zero) {
    using T = decltype(zero);
    copy_rows(dims, static_cast<const T*>(from), from_side, static_cast<T*>(to), to_side);
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
