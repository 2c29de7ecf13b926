// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace wootz {

/// Copies a strided matrix into rows of k adjacent floats, in squares that stay in the L1 cache.
inline void gather_rows(float* to, const float* from, int64_t rows, int64_t k, int64_t row_stride,
                        int64_t k_stride) {
  constexpr int64_t kSquare = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare)
    for (int64_t p0 = 0; p0 < k; p0 += kSquare)
      for (int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r)
        for (int64_t p = p0; p < std::min(k, p0 + kSquare); ++p)
          to[r * k + p] = from[r * row_stride + p * k_stride];
}

}  // namespace wootz
