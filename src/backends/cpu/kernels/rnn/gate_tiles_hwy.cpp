// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rnn/gate_tiles.h"

#include <cmath>

#include "backends/cpu/pointwise/vector_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/rnn/gate_tiles_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/pointwise/vector_math.inc"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));

HWY_INLINE HWY_ATTR V sum_at(const float* a, const float* b, int64_t i) {
  return hn::Add(hn::LoadU(F(), a + i), hn::LoadU(F(), b + i));
}

HWY_ATTR void lstm(const float* gates, const float* bias, float* cell, float* h) {
  for (int64_t i = 0; i < kUnits; i += kLanes) {
    const V in = sigmoid_of(sum_at(gates, bias, i));
    const V out = sigmoid_of(sum_at(gates, bias, kUnits + i));
    const V forget = sigmoid_of(sum_at(gates, bias, 2 * kUnits + i));
    const V candidate = tanh_of(sum_at(gates, bias, 3 * kUnits + i));
    const V c = hn::MulAdd(in, candidate, hn::Mul(forget, hn::LoadU(F(), cell + i)));
    hn::StoreU(c, F(), cell + i);
    hn::StoreU(hn::Mul(out, tanh_of(c)), F(), h + i);
  }
}

HWY_ATTR void gru_first(float* gates, const float* bias, const float* h, float* reset_h) {
  for (int64_t i = 0; i < kUnits; i += kLanes) {
    const V reset = sigmoid_of(sum_at(gates, bias, kUnits + i));
    hn::StoreU(sigmoid_of(sum_at(gates, bias, i)), F(), gates + i);
    hn::StoreU(reset, F(), gates + kUnits + i);
    hn::StoreU(hn::Mul(reset, hn::LoadU(F(), h + i)), F(), reset_h + i);
  }
}

HWY_ATTR void gru_second(const float* gates, const float* bias, const float* h, float* next_h,
                         bool linear_first) {
  for (int64_t i = 0; i < kUnits; i += kLanes) {
    V n = hn::Add(hn::LoadU(F(), next_h + i), hn::LoadU(F(), bias + 2 * kUnits + i));
    if (linear_first) n = hn::Mul(n, hn::LoadU(F(), gates + kUnits + i));
    n = tanh_of(hn::Add(n, hn::LoadU(F(), gates + 2 * kUnits + i)));
    // (1 - z) * n + z * h = n + z * (h - n)
    const V difference = hn::Sub(hn::LoadU(F(), h + i), n);
    hn::StoreU(hn::MulAdd(hn::LoadU(F(), gates + i), difference, n), F(), next_h + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

void lstm_gates(const float* gates, const float* bias, float* cell, float* h) {
  WOOTZ_FOR_TARGET(vector_target(), lstm)(gates, bias, cell, h);
}
void gru_gates(float* gates, const float* bias, const float* h, float* reset_h) {
  WOOTZ_FOR_TARGET(vector_target(), gru_first)(gates, bias, h, reset_h);
}
void gru_candidate(const float* gates, const float* bias, const float* h, float* next_h, bool linear_first) {
  WOOTZ_FOR_TARGET(vector_target(), gru_second)(gates, bias, h, next_h, linear_first);
}

}  // namespace wootz
#endif
