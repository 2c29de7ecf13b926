// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

namespace wootz {

/// c[rows, columns] = a * b over one panel, without zero points: the loops that a compiler turns into vector
/// code.
void integer_panel_portable(const uint8_t* a, int64_t lda, int64_t rows, const int8_t* b, int64_t groups,
                            int columns, int32_t* c, int64_t ldc) {
  for (int64_t r = 0; r < rows; ++r) {
    int32_t sums[64] = {};
    for (int64_t g = 0; g < groups; ++g) {
      const uint8_t* four = a + r * lda + 4 * g;
      const int32_t a0 = four[0], a1 = four[1], a2 = four[2], a3 = four[3];
      const int8_t* from = b + g * 256;
      for (int j = 0; j < 64; ++j)
        sums[j] += a0 * from[4 * j] + a1 * from[4 * j + 1] + a2 * from[4 * j + 2] + a3 * from[4 * j + 3];
    }
    for (int j = 0; j < columns; ++j) c[r * ldc + j] = sums[j];
  }
}

}  // namespace wootz
