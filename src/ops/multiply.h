// SPDX-License-Identifier: Apache-2.0
// The inner product loop that the references of matrix products and convolutions share.
#pragma once
#include <cstdint>
#include <vector>

namespace wootz {

inline constexpr int64_t kPanelWidth = 64;

/// result[i][j] = sum over p of rows[i][p] * panel[p][j] for i < m, j < width (rounded up to 16), p < k; all
/// row-major, panel and result kPanelWidth wide. double for floats; uint64_t wraps, which is exact for every
/// integer type after truncation.
template <class T>
void multiply_panel(const T* rows, int64_t m, int64_t k, const T* panel, int64_t width, T* result);
extern template void multiply_panel(const double*, int64_t, int64_t, const double*, int64_t, double*);
extern template void multiply_panel(const uint64_t*, int64_t, int64_t, const uint64_t*, int64_t, uint64_t*);

/// result[m][n] = rows[m][k] * columns[k][n], row-major, overwritten.
template <class T>
void multiply(const T* rows, const T* columns, int64_t m, int64_t n, int64_t k, T* result);
extern template void multiply(const double*, const double*, int64_t, int64_t, int64_t, double*);
extern template void multiply(const uint64_t*, const uint64_t*, int64_t, int64_t, int64_t, uint64_t*);

/// y[columns] = x[depth] * matrix[depth][columns], row-major: turning the matrix into doubles would cost more
/// than the product.
void multiply_row(const double* x, const float* matrix, int64_t depth, int64_t columns, double* y);

/// x [rows, depth] times the transpose of w [columns, depth].
std::vector<double> times_transposed(const double* x, int64_t rows, const double* w, int64_t columns,
                                     int64_t depth);

/// The transpose of weights [columns, depth], turned round once for many products of `rows` rows each: those
/// of the steps of a recurrence. The weights must live as long.
class TransposedWeights {
 public:
  TransposedWeights(const double* w, int64_t columns, int64_t depth, int64_t rows);
  /// x [rows, depth] times them: [rows, columns].
  std::vector<double> times(const double* x) const;

 private:
  const double* w_;
  int64_t columns_, depth_, rows_;
  std::vector<double>
      panels_;  // [columns / kPanelWidth, depth, kPanelWidth]; empty: few rows, as dot products
};

}  // namespace wootz
