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

/// One register tile: kRows rows of kVectors vectors.
template <int kRows, int kVectors>
HWY_INLINE HWY_ATTR void tile(int64_t k, const float* a, int64_t a_row, const float* b, int64_t b_row,
                              float* c, int64_t c_row, bool accumulate) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
  V sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = accumulate ? hn::LoadU(F(), c + r * c_row + v * kLanes) : hn::Zero(F());
  for (int64_t i = 0; i < k; ++i) {
    V x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(F(), b + i * b_row + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const V w = hn::Set(F(), a[r * a_row + i]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(w, x[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], F(), c + r * c_row + v * kLanes);
}

template <int kRows>
HWY_INLINE HWY_ATTR void rows(int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                              int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
  constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
  int64_t j = 0;
  for (; j + kVectors * kLanes <= n; j += kVectors * kLanes)
    tile<kRows, kVectors>(k, a, a_row, b + j, b_row, c + j, c_row, accumulate);
  for (; j + kLanes <= n; j += kLanes) tile<kRows, 1>(k, a, a_row, b + j, b_row, c + j, c_row, accumulate);
  for (; j < n; ++j)
    for (int r = 0; r < kRows; ++r) {
      float sum = accumulate ? c[r * c_row + j] : 0.0f;
      for (int64_t i = 0; i < k; ++i) sum += a[r * a_row + i] * b[i * b_row + j];
      c[r * c_row + j] = sum;
    }
}

HWY_ATTR void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                      int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) rows<4>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
  for (; i < m; ++i) rows<1>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, accumulate);
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
