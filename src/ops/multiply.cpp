// SPDX-License-Identifier: Apache-2.0
#include "ops/multiply.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/reference_threads.h"

namespace wootz {
namespace {

constexpr int64_t kRows = 6, kColumns = 16;
constexpr int64_t kWorthIt = 1 << 16;  // multiply-adds; with fewer a part of its own does not pay

/// kRowCount x kColumns results held in registers while p runs.
template <class T, int64_t kRowCount>
inline __attribute__((always_inline)) void tile(const T* rows, int64_t k, const T* panel, T* result) {
  typedef T Vector __attribute__((vector_size(kColumns * sizeof(T) / 2)));
  Vector sum[kRowCount][2] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector column[2];
    std::memcpy(column, panel + p * kPanelWidth, sizeof(column));
#pragma GCC unroll 6
    for (int64_t i = 0; i < kRowCount; ++i) {
      const T x = rows[i * k + p];
      sum[i][0] += x * column[0];
      sum[i][1] += x * column[1];
    }
  }
  for (int64_t i = 0; i < kRowCount; ++i) std::memcpy(result + i * kPanelWidth, sum[i], sizeof(sum[i]));
}

template <class T>
inline __attribute__((always_inline)) void panel_product(const T* rows, int64_t m, int64_t k, const T* panel,
                                                         int64_t width, T* result) {
  int64_t i = 0;
  for (; i < m; i += i + kRows <= m ? kRows : 1)
    for (int64_t j = 0; j < width; j += kColumns) {
      T* to = result + i * kPanelWidth + j;
      if (i + kRows <= m)
        tile<T, kRows>(rows + i * k, k, panel + j, to);
      else
        tile<T, 1>(rows + i * k, k, panel + j, to);
    }
}

// Clones for wide registers; the order of each sum and its rounding are the same in all of them.
__attribute__((target_clones("avx512f", "avx2", "default"))) void multiply_doubles(
    const double* rows, int64_t m, int64_t k, const double* panel, int64_t width, double* result) {
  panel_product(rows, m, k, panel, width, result);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) double dot(const double* a, const double* b,
                                                                        int64_t n) {
  typedef double Vector __attribute__((vector_size(8 * sizeof(double))));
  Vector sums[4] = {};
  int64_t k = 0;
  for (; k + 32 <= n; k += 32)
    for (int64_t u = 0; u < 4; ++u) {
      Vector x, y;
      std::memcpy(&x, a + k + 8 * u, sizeof(x));
      std::memcpy(&y, b + k + 8 * u, sizeof(y));
      sums[u] += x * y;
    }
  const Vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (int64_t u = 0; u < 8; ++u) total += sum[u];
  for (; k < n; ++k) total += a[k] * b[k];
  return total;
}

constexpr int64_t kRowChunk = 512;  // columns whose sums stay in the first cache

/// sums[count] += x[depth] * rows[depth][...], rows `stride` apart, four of them at a time.
__attribute__((target_clones("avx512f", "avx2", "default"))) void add_rows(const double* x, const float* rows,
                                                                           int64_t depth, int64_t stride,
                                                                           int64_t count, double* sums) {
  typedef double Vector __attribute__((vector_size(8 * sizeof(double))));
  typedef float Narrow __attribute__((vector_size(8 * sizeof(float))));
  int64_t p = 0;
  for (; p + 4 <= depth; p += 4) {
    const float* row = rows + p * stride;
    int64_t j = 0;
    for (; j + 8 <= count; j += 8) {
      Vector sum;
      std::memcpy(&sum, sums + j, sizeof(sum));
      for (int64_t u = 0; u < 4; ++u) {
        Narrow values;
        std::memcpy(&values, row + u * stride + j, sizeof(values));
        sum += x[p + u] * __builtin_convertvector(values, Vector);
      }
      std::memcpy(sums + j, &sum, sizeof(sum));
    }
    for (; j < count; ++j)
      for (int64_t u = 0; u < 4; ++u) sums[j] += x[p + u] * static_cast<double>(row[u * stride + j]);
  }
  for (; p < depth; ++p)
    for (int64_t j = 0; j < count; ++j) sums[j] += x[p] * static_cast<double>(rows[p * stride + j]);
}

}  // namespace

void multiply_row(const double* x, const float* matrix, int64_t depth, int64_t columns, double* y) {
  std::fill_n(y, columns, 0.0);
  in_parts((columns + kRowChunk - 1) / kRowChunk,
           std::max<int64_t>(1, 32 * kWorthIt / std::max<int64_t>(1, depth * kRowChunk)),
           [&](int64_t begin, int64_t end) {
             for (int64_t j = begin * kRowChunk; j < std::min(columns, end * kRowChunk); j += kRowChunk)
               add_rows(x, matrix + j, depth, columns, std::min(kRowChunk, columns - j), y + j);
           });
}

template <class T>
void multiply_panel(const T* rows, int64_t m, int64_t k, const T* panel, int64_t width, T* result) {
  if constexpr (std::is_same_v<T, double>)
    multiply_doubles(rows, m, k, panel, width, result);
  else
    panel_product(rows, m, k, panel, width, result);
}

template <class T>
void multiply(const T* rows, const T* columns, int64_t m, int64_t n, int64_t k, T* result) {
  const int64_t least = std::max<int64_t>(1, kWorthIt / std::max<int64_t>(1, m * k * kPanelWidth));
  in_parts((n + kPanelWidth - 1) / kPanelWidth, least, [&](int64_t begin, int64_t end) {
    std::vector<T> panel(static_cast<size_t>(k * kPanelWidth)), out(static_cast<size_t>(m * kPanelWidth));
    for (int64_t j = begin * kPanelWidth; j < std::min(n, end * kPanelWidth); j += kPanelWidth) {
      const int64_t width = std::min(kPanelWidth, n - j);
      for (int64_t p = 0; p < k; ++p) std::copy_n(columns + p * n + j, width, panel.data() + p * kPanelWidth);
      multiply_panel(rows, m, k, panel.data(), width, out.data());
      for (int64_t i = 0; i < m; ++i) std::copy_n(out.data() + i * kPanelWidth, width, result + i * n + j);
    }
  });
}

std::vector<double> times_transposed(const double* x, int64_t rows, const double* w, int64_t columns,
                                     int64_t depth) {
  return TransposedWeights(w, columns, depth, rows).times(x);
}

TransposedWeights::TransposedWeights(const double* w, int64_t columns, int64_t depth, int64_t rows)
    : w_(w), columns_(columns), depth_(depth), rows_(rows) {
  if (rows < 4) return;  // turning w round would cost more than it saves
  const int64_t count = (columns + kPanelWidth - 1) / kPanelWidth;
  panels_.resize(static_cast<size_t>(count * depth * kPanelWidth));
  in_parts(count, std::max<int64_t>(1, kWorthIt / std::max<int64_t>(1, depth * kPanelWidth)),
           [&](int64_t begin, int64_t end) {
             for (int64_t j = begin * kPanelWidth; j < std::min(columns, end * kPanelWidth); ++j) {
               double* to = panels_.data() + j / kPanelWidth * depth * kPanelWidth + j % kPanelWidth;
               for (int64_t k = 0; k < depth; ++k) to[k * kPanelWidth] = w[j * depth + k];
             }
           });
}

std::vector<double> TransposedWeights::times(const double* x) const {
  std::vector<double> result(static_cast<size_t>(rows_ * columns_));
  const int64_t least = kWorthIt / std::max<int64_t>(1, rows_ * depth_);
  if (panels_.empty()) {
    in_parts(columns_, std::max<int64_t>(1, least), [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < rows_; ++i)
        for (int64_t j = begin; j < end; ++j)
          result[static_cast<size_t>(i * columns_ + j)] = dot(x + i * depth_, w_ + j * depth_, depth_);
    });
    return result;
  }
  in_parts((columns_ + kPanelWidth - 1) / kPanelWidth, std::max<int64_t>(1, least / kPanelWidth),
           [&](int64_t begin, int64_t end) {
             std::vector<double> out(static_cast<size_t>(rows_ * kPanelWidth));
             for (int64_t p = begin; p < end; ++p) {
               const int64_t first = p * kPanelWidth, width = std::min(kPanelWidth, columns_ - first);
               multiply_panel(x, rows_, depth_, panels_.data() + p * depth_ * kPanelWidth, width, out.data());
               for (int64_t i = 0; i < rows_; ++i)
                 std::copy_n(out.data() + i * kPanelWidth, width, result.data() + i * columns_ + first);
             }
           });
  return result;
}

template void multiply_panel(const double*, int64_t, int64_t, const double*, int64_t, double*);
template void multiply_panel(const uint64_t*, int64_t, int64_t, const uint64_t*, int64_t, uint64_t*);
template void multiply(const double*, const double*, int64_t, int64_t, int64_t, double*);
template void multiply(const uint64_t*, const uint64_t*, int64_t, int64_t, int64_t, uint64_t*);

}  // namespace wootz
