// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/row_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/pointwise/vector_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/row_kernels_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/pointwise/vector_math.inc"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {

constexpr int64_t kBlock = 1024;  // elements that are summed in float32

HWY_INLINE HWY_ATTR int64_t lanes() { return static_cast<int64_t>(hn::Lanes(F())); }

/// Sum of f(x[i]) by four accumulators; `tail` is f for one element.
template <class Function, class Tail>
HWY_INLINE HWY_ATTR double blocked_sum(const float* x, int64_t count, Function f, Tail tail) {
  const int64_t n = lanes();
  double total = 0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const float* p = x + start;
    const int64_t size = std::min(kBlock, count - start);
    V a = hn::Zero(F()), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * n <= size; i += 4 * n) {
      a = hn::Add(a, f(hn::LoadU(F(), p + i)));
      b = hn::Add(b, f(hn::LoadU(F(), p + i + n)));
      c = hn::Add(c, f(hn::LoadU(F(), p + i + 2 * n)));
      d = hn::Add(d, f(hn::LoadU(F(), p + i + 3 * n)));
    }
    for (; i + n <= size; i += n) a = hn::Add(a, f(hn::LoadU(F(), p + i)));
    float sum = hn::GetLane(hn::SumOfLanes(F(), hn::Add(hn::Add(a, b), hn::Add(c, d))));
    for (; i < size; ++i) sum += tail(p[i]);
    total += static_cast<double>(sum);
  }
  return total;
}

HWY_ATTR double row_sum(const float* x, int64_t count) {
  return blocked_sum(
      x, count, [](V v) HWY_ATTR { return v; }, [](float v) { return v; });
}
HWY_ATTR double row_sum_abs(const float* x, int64_t count) {
  return blocked_sum(
      x, count, [](V v) HWY_ATTR { return hn::Abs(v); }, [](float v) { return std::fabs(v); });
}
HWY_ATTR double row_sum_squares(const float* x, int64_t count, float mean) {
  const V m = constant(mean);
  return blocked_sum(
      x, count,
      [m](V v) HWY_ATTR {
        const V d = hn::Sub(v, m);
        return hn::Mul(d, d);
      },
      [mean](float v) { return (v - mean) * (v - mean); });
}

template <bool kMax>
HWY_ATTR float row_extreme(const float* x, int64_t count) {
  const float start = kMax ? -HUGE_VALF : HUGE_VALF;
  const int64_t n = lanes();
  V a = constant(start), b = a;
  V strange = hn::Zero(F());  // all bits set where a NaN went by
  const auto take = [&](V best, V v) HWY_ATTR {
    strange = hn::Or(strange, hn::VecFromMask(F(), hn::IsNaN(v)));
    return kMax ? hn::Max(best, v) : hn::Min(best, v);
  };
  int64_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    a = take(a, hn::LoadU(F(), x + i));
    b = take(b, hn::LoadU(F(), x + i + n));
  }
  for (; i + n <= count; i += n) a = take(a, hn::LoadU(F(), x + i));
  bool seen = !hn::AllFalse(I(), hn::Ne(hn::BitCast(I(), strange), hn::Zero(I())));
  a = kMax ? hn::Max(a, b) : hn::Min(a, b);
  float best = hn::GetLane(kMax ? hn::MaxOfLanes(F(), a) : hn::MinOfLanes(F(), a));
  for (; i < count; ++i) {
    seen |= x[i] != x[i];
    if (kMax ? x[i] > best : x[i] < best) best = x[i];
  }
  return seen ? NAN : best;
}

HWY_ATTR double row_exp_sum(const float* x, int64_t count, float top, float* out) {
  const int64_t n = lanes();
  const V shift = constant(top);
  double total = 0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t end = std::min(count, start + kBlock);
    V a = hn::Zero(F());
    int64_t i = start;
    for (; i + n <= end; i += n) {
      const V e = exp_of(hn::Sub(hn::LoadU(F(), x + i), shift));
      a = hn::Add(a, e);
      if (out) hn::StoreU(e, F(), out + i);
    }
    if (i < end) {  // staged: exp must not see what lies behind the row
      alignas(64) float stage[hn::MaxLanes(F())];
      for (int64_t k = 0; k < n; ++k) stage[k] = i + k < end ? x[i + k] : -HUGE_VALF;
      const V e = exp_of(hn::Sub(hn::Load(F(), stage), shift));
      hn::Store(e, F(), stage);
      for (int64_t k = i; k < end; ++k) {
        total += static_cast<double>(stage[k - i]);
        if (out) out[k] = stage[k - i];
      }
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(F(), a)));
  }
  return total;
}

HWY_ATTR void row_affine(const float* x, int64_t count, float shift, float scale, float offset, float* out) {
  const int64_t n = lanes();
  const V s = constant(shift), f = constant(scale), t = constant(offset);
  int64_t i = 0;
  for (; i + n <= count; i += n)
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(F(), x + i), s), f, t), F(), out + i);
  for (; i < count; ++i) out[i] = (x[i] - shift) * scale + offset;
}

template <bool kGamma, bool kBeta>
HWY_INLINE HWY_ATTR void normalize_loop(const float* x, int64_t count, float mean, float inverse,
                                        const float* gamma, const float* beta, float* out) {
  const int64_t n = lanes();
  const V m = constant(mean), f = constant(inverse);
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    V y = hn::Mul(hn::Sub(hn::LoadU(F(), x + i), m), f);
    if constexpr (kGamma) y = hn::Mul(y, hn::LoadU(F(), gamma + i));
    if constexpr (kBeta) y = hn::Add(y, hn::LoadU(F(), beta + i));
    hn::StoreU(y, F(), out + i);
  }
  for (; i < count; ++i) {
    float y = (x[i] - mean) * inverse;
    if constexpr (kGamma) y *= gamma[i];
    if constexpr (kBeta) y += beta[i];
    out[i] = y;
  }
}

HWY_ATTR void row_normalize(const float* x, int64_t count, float mean, float inverse, const float* gamma,
                            const float* beta, float* out) {
  if (gamma && beta) return normalize_loop<true, true>(x, count, mean, inverse, gamma, beta, out);
  if (gamma) return normalize_loop<true, false>(x, count, mean, inverse, gamma, beta, out);
  if (beta) return normalize_loop<false, true>(x, count, mean, inverse, gamma, beta, out);
  normalize_loop<false, false>(x, count, mean, inverse, gamma, beta, out);
}

HWY_ATTR float row_dot(const float* x, const float* y, int64_t count) {
  const int64_t n = lanes();
  V a = hn::Zero(F()), b = a;
  int64_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    a = hn::MulAdd(hn::LoadU(F(), x + i), hn::LoadU(F(), y + i), a);
    b = hn::MulAdd(hn::LoadU(F(), x + i + n), hn::LoadU(F(), y + i + n), b);
  }
  for (; i + n <= count; i += n) a = hn::MulAdd(hn::LoadU(F(), x + i), hn::LoadU(F(), y + i), a);
  float sum = hn::GetLane(hn::SumOfLanes(F(), hn::Add(a, b)));
  for (; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

HWY_ATTR void row_add_scaled(const float* x, int64_t count, float weight, float* out) {
  const int64_t n = lanes();
  const V w = constant(weight);
  int64_t i = 0;
  for (; i + n <= count; i += n)
    hn::StoreU(hn::MulAdd(hn::LoadU(F(), x + i), w, hn::LoadU(F(), out + i)), F(), out + i);
  for (; i < count; ++i) out[i] += x[i] * weight;
}

template <bool kMax>
HWY_ATTR void row_extreme_into(const float* x, int64_t count, float* out) {
  const int64_t n = lanes();
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    const V best = hn::LoadU(F(), out + i),
            v = hn::LoadU(F(), x + i);  // max and min return v when one is NaN
    hn::StoreU(hn::IfThenElse(hn::IsNaN(best), best, kMax ? hn::Max(best, v) : hn::Min(best, v)), F(),
               out + i);
  }
  for (; i < count; ++i)
    if (x[i] != x[i] || (kMax ? x[i] > out[i] : x[i] < out[i])) out[i] = x[i];
}

const RowKernels kRowKernels = {row_sum,
                                row_sum_abs,
                                row_sum_squares,
                                row_extreme<true>,
                                row_extreme<false>,
                                row_exp_sum,
                                row_affine,
                                row_normalize,
                                row_dot,
                                row_add_scaled,
                                row_extreme_into<true>,
                                row_extreme_into<false>};
const RowKernels& row_table() { return kRowKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

const RowKernels& row_kernels() { return WOOTZ_FOR_TARGET(vector_target(), row_table)(); }

}  // namespace wootz
#endif
