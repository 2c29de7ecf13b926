// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rnn/block_product.h"

#include "backends/cpu/pointwise/vector_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/rnn/block_product_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

/// One register tile: kRows rows of kVectors vectors, each in kChains sums, so that a few rows and vectors
/// still keep the multipliers busy.
template <int kRows, int kVectors, int kChains>
HWY_INLINE HWY_ATTR void tile(int64_t k, const float* a, int64_t a_row, const float* b, int64_t b_row,
                              float* c, int64_t c_row, bool accumulate) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
  V sum[kChains][kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[0][r][v] = accumulate ? hn::LoadU(F(), c + r * c_row + v * kLanes) : hn::Zero(F());
#pragma GCC unroll 8
      for (int chain = 1; chain < kChains; ++chain) sum[chain][r][v] = hn::Zero(F());
    }
  int64_t i = 0;
  for (; i + kChains <= k; i += kChains)
#pragma GCC unroll 8
    for (int chain = 0; chain < kChains; ++chain) {
      V x[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(F(), b + (i + chain) * b_row + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const V w = hn::Set(F(), a[r * a_row + i + chain]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[chain][r][v] = hn::MulAdd(w, x[v], sum[chain][r][v]);
      }
    }
  for (; i < k; ++i)
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sum[0][r][v] = hn::MulAdd(hn::Set(F(), a[r * a_row + i]), hn::LoadU(F(), b + i * b_row + v * kLanes),
                                  sum[0][r][v]);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 8
      for (int chain = 1; chain < kChains; ++chain) sum[0][r][v] = hn::Add(sum[0][r][v], sum[chain][r][v]);
      hn::StoreU(sum[0][r][v], F(), c + r * c_row + v * kLanes);
    }
}

template <int kRows>
HWY_INLINE HWY_ATTR void rows(int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                              int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
  constexpr int kVectors = HWY_TARGET == HWY_AVX3 || kRows == 1 ? 4 : 2;
  constexpr int kWideChains = kRows == 1 ? 2 : 1, kNarrowChains = kRows == 1 ? 4 : 1;
  int64_t j = 0;
  for (; j + kVectors * kLanes <= n; j += kVectors * kLanes)
    tile<kRows, kVectors, kWideChains>(k, a, a_row, b + j, b_row, c + j, c_row, accumulate);
  for (; j + 2 * kLanes <= n; j += 2 * kLanes)
    tile<kRows, 2, kNarrowChains>(k, a, a_row, b + j, b_row, c + j, c_row, accumulate);
  for (; j < n; j += kLanes)
    tile<kRows, 1, kNarrowChains>(k, a, a_row, b + j, b_row, c + j, c_row, accumulate);
}

HWY_ATTR void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                      int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  constexpr int64_t kMost = HWY_TARGET == HWY_AVX3 ? 6 : 4;  // rows whose sums fit the registers
  int64_t i = 0;
  for (; i + kMost <= m && m - i != 8; i += kMost)
    rows<kMost>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
  for (; i + 4 <= m; i += 4) rows<4>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
  for (; i + 2 <= m; i += 2) rows<2>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
  if (i < m) rows<1>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

void block_product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                   int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  WOOTZ_FOR_TARGET(vector_target(), product)(m, n, k, a, a_row, b, b_row, c, c_row, accumulate);
}

}  // namespace wootz
#endif
