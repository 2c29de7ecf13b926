// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <cstdint>

namespace wootz {
namespace {

/// acc += a * b, four bytes a lane. Not the intrinsic: around that, g++ 12 copies every accumulator twice and
/// reads b from memory again for each row.
inline void multiply_add(__m512i& acc, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
}

template <int MR>
void tile(const uint8_t* a, int64_t lda, const int8_t* b, int64_t groups, int columns, int32_t* c,
          int64_t ldc) {
  __m512i acc[MR][4];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[i][j] = _mm512_setzero_si512();
  for (int64_t g = 0; g < groups; ++g, b += 256) {
    __m512i bv[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) bv[j] = _mm512_loadu_si512(b + 64 * j);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      int32_t four;
      __builtin_memcpy(&four, a + i * lda + 4 * g, 4);
      const __m512i av = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) multiply_add(acc[i][j], av, bv[j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const int left = columns - 16 * j;
      const __mmask16 mask = left >= 16 ? 0xffff : left <= 0 ? 0 : static_cast<__mmask16>((1u << left) - 1);
      _mm512_mask_storeu_epi32(c + i * ldc + 16 * j, mask, acc[i][j]);
    }
}

}  // namespace

/// c[rows, columns] = a * b over one panel, without zero points.
void integer_panel_avx512vnni(const uint8_t* a, int64_t lda, int64_t rows, const int8_t* b, int64_t groups,
                              int columns, int32_t* c, int64_t ldc) {
  const int64_t cuts = (rows + 5) / 6;
  for (int64_t i = 0; i < cuts; ++i) {
    const int64_t r0 = rows * i / cuts, r1 = rows * (i + 1) / cuts;
    const uint8_t* at = a + r0 * lda;
    int32_t* to = c + r0 * ldc;
    switch (r1 - r0) {
      case 1: tile<1>(at, lda, b, groups, columns, to, ldc); break;
      case 2: tile<2>(at, lda, b, groups, columns, to, ldc); break;
      case 3: tile<3>(at, lda, b, groups, columns, to, ldc); break;
      case 4: tile<4>(at, lda, b, groups, columns, to, ldc); break;
      case 5: tile<5>(at, lda, b, groups, columns, to, ldc); break;
      default: tile<6>(at, lda, b, groups, columns, to, ldc); break;
    }
  }
}

}  // namespace wootz
