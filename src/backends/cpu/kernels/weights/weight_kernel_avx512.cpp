// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "backends/cpu/kernels/weights/weight_panels.h"
#include "backends/cpu/simd.h"

namespace wootz {

WeightKernel weight_kernel_avx512(WeightForm form);

namespace WOOTZ_SIMD {
namespace {

constexpr int kMostTileRows = 6;
constexpr int64_t kAheadBytes = 4096;  // far enough that the lines come from memory in time

/// Sixteen weights of a byte each.
template <WeightForm kForm>
WOOTZ_INLINE Vec bytes_as_floats(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (kForm == WeightForm::kByte) return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
  if constexpr (kForm == WeightForm::kFloat8E5)
    return {_mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8))};
  // The sign's copy goes to the top, the one below it away.
  const __m256i half = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7),
                                        _mm256_set1_epi16(static_cast<int16_t>(0xBFFF)));
  return {_mm512_cvtph_ps(half)};
}

template <int MR, int NV>
using Sums = Vec[MR][NV];

/// sum += A[rows, from..to) * weights.
template <WeightForm kForm, int MR, int NV>
WOOTZ_INLINE void add_block(const WeightArgs& g, const float* const (&a)[MR], int64_t from, int64_t to,
                            Sums<MR, NV>& sum) {
  constexpr int64_t kPitch = NV * 16;
  if constexpr (kForm == WeightForm::kNibble) {
    const __m512 table = _mm512_loadu_ps(g.table);
    for (int64_t p = from; p < to; p += 8) {
      const uint8_t* word = g.weights + p / 8 * kPitch * 4;
      __m512i v[NV];
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) {
        _mm_prefetch(reinterpret_cast<const char*>(word + j * 64 + kAheadBytes), _MM_HINT_T0);
        v[j] = _mm512_loadu_si512(word + j * 64);
      }
      const int rest = to - p < 8 ? static_cast<int>(to - p) : 8;
      const auto step = [&](int r) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int j = 0; j < NV; ++j) {
          const Vec w = {_mm512_permutexvar_ps(v[j], table)};
          v[j] = _mm512_srli_epi32(v[j], 4);
#pragma GCC unroll 8
          for (int i = 0; i < MR; ++i) sum[i][j] = fmadd(set1(a[i][p + r]), w, sum[i][j]);
        }
      };
      if (rest == 8) {
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r) step(r);
      } else {
        for (int r = 0; r < rest; ++r) step(r);
      }
    }
  } else {
    for (int64_t p = from; p < to; ++p) {
      const uint8_t* row = g.weights + p * kPitch;
      _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T0);
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) {
        const Vec w = bytes_as_floats<kForm>(row + j * 16);
#pragma GCC unroll 8
        for (int i = 0; i < MR; ++i) sum[i][j] = fmadd(set1(a[i][p]), w, sum[i][j]);
      }
    }
  }
}

/// The sum of a block of A's row, for zero points.
WOOTZ_INLINE float sum_of(const float* a, int64_t count) {
  Vec s = set1(0);
  for (int64_t i = 0; i < count; i += 16) s = add(s, load_n(a + i, count - i));
  return sum(s);
}

template <WeightForm kForm, int MR, int NV>
void weight_tile(const WeightArgs& g, int64_t row) {
  const float* a[MR];
  for (int i = 0; i < MR; ++i) a[i] = g.a + (row + i) * g.lda;
  float total[MR][NV * 16];
  for (int64_t from = 0, b = 0; from < g.k; from += g.block, ++b) {
    const int64_t to = from + g.block < g.k ? from + g.block : g.k;
    Sums<MR, NV> sum;
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) sum[i][j] = set1(0);
    add_block<kForm, MR, NV>(g, a, from, to, sum);
    const float *scales = g.scales + b * NV * 16, *offsets = g.offsets ? g.offsets + b * NV * 16 : nullptr;
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      const Vec of_a = set1(offsets ? sum_of(a[i] + from, to - from) : 0);
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) {
        Vec t = from == 0 ? set1(0) : load(total[i] + j * 16);
        t = fmadd(sum[i][j], load(scales + j * 16), t);
        if (offsets) t = fmadd(of_a, load(offsets + j * 16), t);
        store(total[i] + j * 16, t);
      }
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int j = 0; j < NV; ++j)
      store_n(g.c + (row + i) * g.ldc + j * 16, load(total[i] + j * 16), g.columns - j * 16);
}

template <WeightForm kForm, int NV, int... kRows>
void weight_rows(const WeightArgs& g, std::integer_sequence<int, kRows...>) {
  static constexpr void (*tiles[])(const WeightArgs&, int64_t) = {weight_tile<kForm, kRows + 1, NV>...};
  const int64_t cuts = (g.m + kMostTileRows - 1) / kMostTileRows;
  for (int64_t i = 0; i < cuts; ++i) {
    const int64_t r0 = i * g.m / cuts, r1 = (i + 1) * g.m / cuts;
    tiles[r1 - r0 - 1](g, r0);
  }
}

template <WeightForm kForm>
void weight_product(const WeightArgs& g) {
  using Rows = std::make_integer_sequence<int, kMostTileRows>;
  switch ((g.columns + 15) / 16) {
    case 1: return weight_rows<kForm, 1>(g, Rows{});
    case 2: return weight_rows<kForm, 2>(g, Rows{});
    case 3: return weight_rows<kForm, 3>(g, Rows{});
    default: return weight_rows<kForm, 4>(g, Rows{});
  }
}

}  // namespace
}  // namespace WOOTZ_SIMD

WeightKernel weight_kernel_avx512(WeightForm form) {
  switch (form) {
    case WeightForm::kByte: return WOOTZ_SIMD::weight_product<WeightForm::kByte>;
    case WeightForm::kNibble: return WOOTZ_SIMD::weight_product<WeightForm::kNibble>;
    case WeightForm::kFloat8: return WOOTZ_SIMD::weight_product<WeightForm::kFloat8>;
    case WeightForm::kFloat8E5: return WOOTZ_SIMD::weight_product<WeightForm::kFloat8E5>;
  }
  return nullptr;
}

}  // namespace wootz
