// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/movement/strided_copy.h"

#include <emmintrin.h>

#include <cstring>

#include "backends/cpu/pointwise/parallel.h"

namespace wootz {
namespace {

constexpr int64_t kBlock = 32;           // elements a side of a transposed block
constexpr double kBytesPerSecond = 8e9;  // of one thread, for deciding on forks

/// An element of N bytes at any address.
template <int N>
struct Bytes {
  char data[N];
};

/// Calls f with a type of that many bytes.
template <class F>
void visit_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Bytes<1>{});
    case 2: return f(Bytes<2>{});
    case 4: return f(Bytes<4>{});
    case 8: return f(Bytes<8>{});
    default: return f(Bytes<16>{});
  }
}

void transpose_4x4(const Bytes<4>* from, int64_t from_stride, Bytes<4>* to, int64_t to_stride) {
  const auto load = [&](int64_t i) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_stride));
  };
  __m128 a = load(0), b = load(1), c = load(2), d = load(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  const auto store = [&](int64_t i, __m128 v) {
    _mm_storeu_ps(reinterpret_cast<float*>(to + i * to_stride), v);
  };
  store(0, a), store(1, b), store(2, c), store(3, d);
}

/// to[r * to_row + c] = from[c * from_column + r] for a block.
template <class T>
void transpose_block(const T* from, int64_t from_column, T* to, int64_t to_row, int64_t rows,
                     int64_t columns) {
  int64_t r = 0;
  if constexpr (sizeof(T) == 4) {
    for (; r + 4 <= rows; r += 4) {
      int64_t c = 0;
      for (; c + 4 <= columns; c += 4)
        transpose_4x4(from + c * from_column + r, from_column, to + r * to_row + c, to_row);
      for (; c < columns; ++c)
        for (int64_t k = r; k < r + 4; ++k) to[k * to_row + c] = from[c * from_column + k];
    }
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * to_row + c] = from[c * from_column + r];
}

template <class T>
void copy_run(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    const T value = *from;
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// Runs of a few elements become one wider element: [.., C] with C * bytes of 2, 4, 8 or 16 and contiguous in
/// both.
void widen(LoopNest& nest, int64_t& bytes) {
  const int64_t inner = nest.dims.back();
  if (nest.dims.size() < 2 || nest.strides[0].back() != 1 || nest.strides[1].back() != 1) return;
  const int64_t wide = inner * bytes;
  if (wide != 2 && wide != 4 && wide != 8 && wide != 16) return;
  for (const Dims& strides : nest.strides)
    for (size_t d = 0; d + 1 < strides.size(); ++d)
      if (strides[d] % inner != 0) return;
  nest.dims.pop_back();
  for (Dims& strides : nest.strides) {
    strides.pop_back();
    for (int64_t& s : strides) s /= inner;
  }
  bytes = wide;
}

}  // namespace

StridedCopy::StridedCopy(std::span<const int64_t> dims, Dims from_strides, Dims to_strides,
                         size_t element_bytes)
    : bytes_(static_cast<int64_t>(element_bytes)) {
  nest_ = LoopNest::make(dims, {std::move(from_strides), std::move(to_strides)}, 1);
  if (nest_.size() == 0) return;
  widen(nest_, bytes_);
  const size_t last = nest_.dims.size() - 1;
  if (nest_.strides[1][last] != 1 || nest_.strides[0][last] == 1 || nest_.strides[0][last] == 0) return;
  for (size_t d = 0; d < last; ++d) {
    if (nest_.strides[0][d] != 1 || nest_.dims[d] < 4) continue;
    transposed_ = true;
    rows_ = nest_.dims[d], columns_ = nest_.dims[last];
    from_column_ = nest_.strides[0][last], to_row_ = nest_.strides[1][d];
    outer_ = nest_;
    for (Dims* list : {&outer_.dims, &outer_.strides[0], &outer_.strides[1]}) {
      list->erase(list->begin() + static_cast<long>(last));
      list->erase(list->begin() + static_cast<long>(d));
      if (list->empty()) list->push_back(1);
    }
  }
}

void StridedCopy::run(const void* from, void* to, ThreadPool* pool) const noexcept {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const int64_t blocks = (rows_ + kBlock - 1) / kBlock;
  const int64_t count = nest_.size() == 0 ? 0 : transposed_ ? outer_.size() * blocks : nest_.size();
  const auto part = [&](int64_t begin, int64_t end) {
    if (transposed_)
      transpose_planes(source, target, begin, end);
    else
      copy_range(source, target, begin, end);
  };
  if (count == 0) return;
  if (!pool) return part(0, count);
  const double seconds = 2.0 * static_cast<double>(nest_.size() * bytes_) / kBytesPerSecond;
  parallel_ranges(*pool, count, transposed_ ? 1 : std::max<int64_t>(1, 64 / bytes_), seconds, part);
}

void StridedCopy::copy_range(const char* from, char* to, int64_t begin, int64_t end) const {
  const int64_t from_stride = nest_.strides[0].back(), to_stride = nest_.strides[1].back();
  visit_size(bytes_, [&](auto element) {
    using T = decltype(element);
    nest_.for_each_run(begin, end, [&](const int64_t* offsets, int64_t count) {
      copy_run(reinterpret_cast<const T*>(from) + offsets[0], from_stride,
               reinterpret_cast<T*>(to) + offsets[1], to_stride, count);
    });
  });
}

/// Work items are strips of kBlock rows of one plane each.
void StridedCopy::transpose_planes(const char* from, char* to, int64_t begin, int64_t end) const {
  const int64_t blocks = (rows_ + kBlock - 1) / kBlock;
  visit_size(bytes_, [&](auto element) {
    using T = decltype(element);
    int64_t item = begin;
    outer_.for_each_run(
        begin / blocks, (end + blocks - 1) / blocks, [&](const int64_t* offsets, int64_t count) {
          for (int64_t plane = 0; plane < count; ++plane) {
            const T* source =
                reinterpret_cast<const T*>(from) + offsets[0] + plane * outer_.strides[0].back();
            T* target = reinterpret_cast<T*>(to) + offsets[1] + plane * outer_.strides[1].back();
            for (int64_t block = item % blocks; block < blocks && item < end; ++block, ++item) {
              const int64_t row = block * kBlock, rows = std::min(kBlock, rows_ - row);
              for (int64_t column = 0; column < columns_; column += kBlock)
                transpose_block(source + column * from_column_ + row, from_column_,
                                target + row * to_row_ + column, to_row_, rows,
                                std::min(kBlock, columns_ - column));
            }
          }
        });
  });
}

}  // namespace wootz
