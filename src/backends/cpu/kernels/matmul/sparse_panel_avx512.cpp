// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "backends/cpu/kernels/matmul/sparse_panels.h"

namespace wootz {
namespace {

constexpr int64_t kSparseAheadWords = 1024;  // far enough that the lines come from memory in time

/// A word's places pick among sixteen neighbours of A.
template <int MR, int NV>
void sparse_tile(const SparseArgs& s) {
  __m512 sum[MR][NV];
  const auto mask = [&](int j) {
    const int left = s.columns - j * 16;
    return static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
  };
#pragma GCC unroll 4
  for (int j = 0; j < NV; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < MR; ++i)
      sum[i][j] = s.bias ? _mm512_maskz_loadu_ps(mask(j), s.bias + j * 16) : _mm512_setzero_ps();
  const uint32_t* group = s.b;
  for (int64_t from = 0; from < s.k; from += 16, group += NV * 16 * 9) {
    const int64_t left = s.k - from;
    const auto present = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    __m512 a[MR];
    __m512i place[NV];
#pragma GCC unroll 4
    for (int i = 0; i < MR; ++i) a[i] = _mm512_maskz_loadu_ps(present, s.a + i * s.lda + from);
#pragma GCC unroll 4
    for (int j = 0; j < NV; ++j) place[j] = _mm512_loadu_si512(group + j * 16);
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      const uint32_t* row = group + (1 + r) * NV * 16;
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) {
        _mm_prefetch(reinterpret_cast<const char*>(row + j * 16 + kSparseAheadWords), _MM_HINT_T0);
        const __m512 w = _mm512_castsi512_ps(_mm512_loadu_si512(row + j * 16));
#pragma GCC unroll 4
        for (int i = 0; i < MR; ++i)
          sum[i][j] = _mm512_fmadd_ps(_mm512_permutexvar_ps(place[j], a[i]), w, sum[i][j]);
        place[j] = _mm512_srli_epi32(place[j], 4);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < NV; ++j) _mm512_mask_storeu_ps(s.c + i * s.ldc + j * 16, mask(j), sum[i][j]);
}

template <int NV>
void sparse_rows(const SparseArgs& s) {
  switch (s.m) {
    case 1: return sparse_tile<1, NV>(s);
    case 2: return sparse_tile<2, NV>(s);
    case 3: return sparse_tile<3, NV>(s);
    default: return sparse_tile<4, NV>(s);
  }
}

}  // namespace

void sparse_product_avx512(const SparseArgs& s) {
  switch ((s.columns + 15) / 16) {
    case 1: return sparse_rows<1>(s);
    case 2: return sparse_rows<2>(s);
    case 3: return sparse_rows<3>(s);
    default: return sparse_rows<4>(s);
  }
}

}  // namespace wootz
