// SPDX-License-Identifier: Apache-2.0
#include "ops/multiply.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace wootz {
namespace {

constexpr int64_t kRows = 4, kColumns = 4;

/// kRowCount x kColumns results held in registers while p runs.
template <class T, int64_t kRowCount>
void tile(const T* rows, int64_t k, const T* panel, T* result) {
  typedef T Vector __attribute__((vector_size(kColumns * sizeof(T))));
  Vector sum[kRowCount] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector column;
    std::memcpy(&column, panel + p * kPanelWidth, sizeof(column));
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRowCount; ++i) sum[i] += rows[i * k + p] * column;
  }
  for (int64_t i = 0; i < kRowCount; ++i) std::memcpy(result + i * kPanelWidth, &sum[i], sizeof(sum[i]));
}

}  // namespace

template <class T>
void multiply_panel(const T* rows, int64_t m, int64_t k, const T* panel, int64_t width, T* result) {
  for (int64_t i = 0; i < m; i += kRows) {
    const T* row = rows + i * k;
    for (int64_t j = 0; j < width; j += kColumns) {
      T* to = result + i * kPanelWidth + j;
      switch (std::min(kRows, m - i)) {
        case 1: tile<T, 1>(row, k, panel + j, to); break;
        case 2: tile<T, 2>(row, k, panel + j, to); break;
        case 3: tile<T, 3>(row, k, panel + j, to); break;
        default: tile<T, 4>(row, k, panel + j, to); break;
      }
    }
  }
}

template <class T>
void multiply(const T* rows, const T* columns, int64_t m, int64_t n, int64_t k, T* result) {
  std::vector<T> panel(static_cast<size_t>(k * kPanelWidth)), out(static_cast<size_t>(m * kPanelWidth));
  for (int64_t j = 0; j < n; j += kPanelWidth) {
    const int64_t width = std::min(kPanelWidth, n - j);
    for (int64_t p = 0; p < k; ++p) std::copy_n(columns + p * n + j, width, panel.data() + p * kPanelWidth);
    multiply_panel(rows, m, k, panel.data(), width, out.data());
    for (int64_t i = 0; i < m; ++i) std::copy_n(out.data() + i * kPanelWidth, width, result + i * n + j);
  }
}

std::vector<double> times_transposed(const double* x, int64_t rows, const double* w, int64_t columns,
                                     int64_t depth) {
  std::vector<double> result(static_cast<size_t>(rows * columns));
  if (rows < 4) {  // as dot products: turning w round would cost more
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const double *a = x + i * depth, *b = w + j * depth;
        double sum[4] = {};
        int64_t k = 0;
        for (; k + 4 <= depth; k += 4)
          for (int64_t u = 0; u < 4; ++u) sum[u] += a[k + u] * b[k + u];
        for (; k < depth; ++k) sum[0] += a[k] * b[k];
        result[static_cast<size_t>(i * columns + j)] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      }
    return result;
  }
  std::vector<double> turned(static_cast<size_t>(columns * depth));
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t k = 0; k < depth; ++k) turned[static_cast<size_t>(k * columns + j)] = w[j * depth + k];
  multiply(x, turned.data(), rows, columns, depth, result.data());
  return result;
}

template void multiply_panel(const double*, int64_t, int64_t, const double*, int64_t, double*);
template void multiply_panel(const uint64_t*, int64_t, int64_t, const uint64_t*, int64_t, uint64_t*);
template void multiply(const double*, const double*, int64_t, int64_t, int64_t, double*);
template void multiply(const uint64_t*, const uint64_t*, int64_t, int64_t, int64_t, uint64_t*);

}  // namespace wootz
