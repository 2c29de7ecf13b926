// SPDX-License-Identifier: Apache-2.0
// A constant matrix of which every sixteen neighbours along k hold at most eight numbers, as 2:4 sparsity
// leaves it: 9 words instead of 16, for products whose time is that of reading weights.
#pragma once
#include <cstdint>
#include <functional>

namespace wootz {

/// Panels of up to 64 columns in whole vectors of 16. For each group of 16 along k: a word a column with
/// eight places of 4 bits, then eight numbers a column.
struct SparsePanels {
  static constexpr int64_t kPanel = 64, kVector = 16, kGroup = 16, kKept = 8;

  const uint32_t* data = nullptr;
  int64_t k = 0, n = 0;

  int64_t groups() const { return (k + kGroup - 1) / kGroup; }
  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  int64_t columns(int64_t p) const { return n - p * kPanel < kPanel ? n - p * kPanel : kPanel; }
  int64_t pitch(int64_t p) const { return (columns(p) + kVector - 1) / kVector * kVector; }
  int64_t panel_words(int64_t p) const { return groups() * pitch(p) * (1 + kKept); }
  int64_t words() const { return n == 0 ? 0 : (panels() - 1) * panel_words(0) + panel_words(panels() - 1); }
  const uint32_t* at(int64_t p) const { return data + p * panel_words(0); }
};

/// Element (p, j) of the matrix.
using MatrixElement = std::function<float(int64_t, int64_t)>;
bool is_half_empty(int64_t k, int64_t n, const MatrixElement& element);
/// Writes shape.words() words.
void pack_sparse(const SparsePanels& shape, const MatrixElement& element, uint32_t* out);

/// C[m, columns of a panel] = bias + A[m, k] * B, before any tail; m is at most 4.
struct SparseArgs {
  const float* a = nullptr;
  int64_t lda = 0, m = 0, k = 0;
  const uint32_t* b = nullptr;
  const float* bias = nullptr;  // by column, or null
  int columns = 0;
  float* c = nullptr;
  int64_t ldc = 0;
};
/// Any processor; products with numbers that are 0 count too, as infinities and NaN demand.
void sparse_product_portable(const SparseArgs& args);
/// For finite A.
void sparse_product_avx512(const SparseArgs& args);

}  // namespace wootz
