// SPDX-License-Identifier: Apache-2.0
// Exact products of 8-bit matrices: uint8 rows times int8 panels, zero points taken out afterwards.
#pragma once
#include <cstdint>

#include "ir/tensor.h"

namespace wootz {

/// The right-hand matrix: k bytes deep (padded to groups of four), panels of 64 columns; group g of a panel
/// holds four consecutive k of each column. Bytes are int8; uint8 weights are stored minus 128.
struct IntegerPanels {
  static constexpr int64_t kPanel = 64;
  const int8_t* data = nullptr;
  const int32_t* column_sums = nullptr;  // of the stored bytes
  int64_t k = 0, n = 0;

  int64_t groups() const { return (k + 3) / 4; }
  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  int64_t bytes() const { return panels() * groups() * 4 * kPanel; }
  const int8_t* at(int64_t panel) const { return data + panel * groups() * 4 * kPanel; }
};

/// Adds element (k0 + p, j) = source[p * row_stride + j * column_stride] to the packed bytes and sums.
void pack_integer(const IntegerPanels& shape, bool is_unsigned, const uint8_t* source, int64_t k0,
                  int64_t count, int64_t row_stride, int64_t column_stride, int8_t* data,
                  int32_t* column_sums);

/// Rows of the left matrix as uint8, k padded with anything to a multiple of four bytes, and their sums.
struct IntegerRows {
  const uint8_t* a = nullptr;
  int64_t lda = 0;
  const int32_t* sums = nullptr;
  int64_t rows = 0;
};

/// Zero points in the stored form: int8 rows are stored plus 128, uint8 columns minus 128.
struct IntegerZeroPoints {
  int32_t a = 0;
  const int32_t* b = nullptr;  // one, or one for each column
  bool b_by_column = false;
};

/// c[rows, columns of panel p] = sum over k of a * b in stored form: no zero point is taken out.
void multiply_stored(const IntegerPanels& panels, const IntegerRows& left, int64_t p, int32_t* c,
                     int64_t ldc) noexcept;

/// Takes zero points out of what multiply_stored left for panel p.
void remove_zero_points(const IntegerPanels& panels, const IntegerRows& left, const IntegerZeroPoints& zero,
                        int64_t p, int32_t* c, int64_t ldc) noexcept;

/// c[rows, columns of panels p0..p1] = sum over k of (a - za) * (b - zb), modulo 2^32. `c` is at row 0,
/// column 0.
void multiply_integer(const IntegerPanels& panels, const IntegerRows& left, const IntegerZeroPoints& zero,
                      int64_t p0, int64_t p1, int32_t* c, int64_t ldc) noexcept;

/// Copies `count` bytes, adding 128 (modulo 256) where `flip`; returns the sum of the copied bytes.
int32_t copy_bytes(uint8_t* to, const uint8_t* from, int64_t count, bool flip) noexcept;
/// The same without the sum.
void copy_stored(uint8_t* to, const uint8_t* from, int64_t count, bool flip) noexcept;

}  // namespace wootz
