// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer/integer_product.h"

#include <algorithm>
#include <cstring>
#include "backends/cpu/cpu_features.h"

namespace wootz {

void integer_panel_avx512vnni(const uint8_t*, int64_t, int64_t, const int8_t*, int64_t, int, int32_t*,
                              int64_t);
void integer_panel_portable(const uint8_t*, int64_t, int64_t, const int8_t*, int64_t, int, int32_t*, int64_t);

void pack_integer(const IntegerPanels& shape, bool is_unsigned, const uint8_t* source, int64_t k0,
                  int64_t count, int64_t row_stride, int64_t column_stride, int8_t* data,
                  int32_t* column_sums) {
  for (int64_t p = 0; p < count; ++p)
    for (int64_t j = 0; j < shape.n; ++j) {
      const uint8_t raw = source[p * row_stride + j * column_stride];
      const int8_t value = static_cast<int8_t>(is_unsigned ? raw ^ 0x80 : raw);
      const int64_t k = k0 + p, panel = j / IntegerPanels::kPanel, column = j % IntegerPanels::kPanel;
      data[((panel * shape.groups() + k / 4) * IntegerPanels::kPanel + column) * 4 + k % 4] = value;
      column_sums[j] += value;
    }
}

void multiply_stored(const IntegerPanels& panels, const IntegerRows& left, int64_t p, int32_t* c,
                     int64_t ldc) noexcept {
  const auto product = cpu_features().avx512_vnni ? integer_panel_avx512vnni : integer_panel_portable;
  const int64_t left_columns = panels.n - p * IntegerPanels::kPanel;
  product(left.a, left.lda, left.rows, panels.at(p), panels.groups(),
          static_cast<int>(std::min(IntegerPanels::kPanel, left_columns)), c, ldc);
}

void remove_zero_points(const IntegerPanels& panels, const IntegerRows& left, const IntegerZeroPoints& zero,
                        int64_t p, int32_t* c, int64_t ldc) noexcept {
  // Unsigned arithmetic: the result is defined modulo 2^32.
  const auto za = static_cast<uint32_t>(zero.a);
  const int64_t first = p * IntegerPanels::kPanel;
  const int columns = static_cast<int>(std::min(IntegerPanels::kPanel, panels.n - first));
  const int32_t* sums = panels.column_sums + first;
  for (int64_t r = 0; r < left.rows; ++r) {
    auto* row = reinterpret_cast<uint32_t*>(c + r * ldc);
    const uint32_t rest = static_cast<uint32_t>(left.sums[r]) - static_cast<uint32_t>(panels.k) * za;
    if (zero.b_by_column) {
      for (int j = 0; j < columns; ++j)
        row[j] -= za * static_cast<uint32_t>(sums[j]) + static_cast<uint32_t>(zero.b[first + j]) * rest;
    } else {
      const uint32_t same = static_cast<uint32_t>(zero.b[0]) * rest;
      for (int j = 0; j < columns; ++j) row[j] -= za * static_cast<uint32_t>(sums[j]) + same;
    }
  }
}

void multiply_integer(const IntegerPanels& panels, const IntegerRows& left, const IntegerZeroPoints& zero,
                      int64_t p0, int64_t p1, int32_t* c, int64_t ldc) noexcept {
  for (int64_t p = p0; p < p1; ++p) {
    multiply_stored(panels, left, p, c + p * IntegerPanels::kPanel, ldc);
    remove_zero_points(panels, left, zero, p, c + p * IntegerPanels::kPanel, ldc);
  }
}

int32_t copy_bytes(uint8_t* to, const uint8_t* from, int64_t count, bool flip) noexcept {
  const uint8_t mask = flip ? 0x80 : 0;
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i] ^ mask;
    sum += to[i];
  }
  return sum;
}

void copy_stored(uint8_t* to, const uint8_t* from, int64_t count, bool flip) noexcept {
  if (!flip) {
    std::memcpy(to, from, static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ 0x80;
}

}  // namespace wootz
