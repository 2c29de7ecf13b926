// SPDX-License-Identifier: Apache-2.0
// Polynomials: exp by its own series, erf by interpolation on Chebyshev nodes in 60 digits.
#include "ops/double_math.h"

#include <cstring>
#include <limits>

namespace wootz {
namespace {

// By reference everywhere: passing wide vectors by value depends on the instruction set.
typedef double Lanes __attribute__((vector_size(64)));
typedef int64_t Bits __attribute__((vector_size(64)));
constexpr size_t kLanes = sizeof(Lanes) / sizeof(double);
#define WOOTZ_INLINE inline __attribute__((always_inline))

constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.6931471803691238, kLn2Low = 1.9082149292705877e-10;
constexpr double kRounder = 0x1.8p52;  // adding it rounds to an integer, which the lowest bits then hold

template <size_t kCount>
WOOTZ_INLINE void polynomial(const double (&c)[kCount], const Lanes& x, Lanes& y) {
  y = x * c[kCount - 1] + c[kCount - 2];
  for (size_t i = kCount - 2; i-- > 0;) y = y * x + c[i];
}

WOOTZ_INLINE void absolute(const Lanes& x, Lanes& y) {
  y = reinterpret_cast<Lanes>(reinterpret_cast<Bits>(x) & INT64_MAX);
}

/// y with the sign of x; y is positive.
WOOTZ_INLINE void with_sign_of(const Lanes& x, Lanes& y) {
  y = reinterpret_cast<Lanes>(reinterpret_cast<Bits>(y) | (reinterpret_cast<Bits>(x) & INT64_MIN));
}

WOOTZ_INLINE void clamp(Lanes& x, double least, double most) {  // keeps NaN
  x = x < least ? least - Lanes{} : x;
  x = x > most ? most - Lanes{} : x;
}

/// x = n ln(2) + r with |r| <= ln(2) / 2; gives e^r - 1 and the bits of n + kRounder.
WOOTZ_INLINE void reduce(const Lanes& x, Lanes& expm1, Bits& bits) {
  static constexpr double kSeries[] = {1.0 / 2,         1.0 / 6,          1.0 / 24,          1.0 / 120,
                                       1.0 / 720,       1.0 / 5040,       1.0 / 40320,       1.0 / 362880,
                                       1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0};
  const Lanes shifted = x * kLog2E + kRounder, n = shifted - kRounder;
  const Lanes r = (x - n * kLn2High) - n * kLn2Low;
  Lanes q;
  polynomial(kSeries, r, q);
  expm1 = r * r * q + r;
  bits = reinterpret_cast<Bits>(shifted) - 0x4338000000000000;
}

/// x *= 2^n in two steps, so that results may be denormal.
WOOTZ_INLINE void scale(Lanes& x, const Bits& n) {
  const Bits half = n >> 1, first = (half + 1023) << 52, second = (n - half + 1023) << 52;
  x = x * reinterpret_cast<Lanes>(first) * reinterpret_cast<Lanes>(second);
}

WOOTZ_INLINE void exp_of(Lanes& x) {
  clamp(x, -746, 710);
  Lanes e;
  Bits n;
  reduce(x, e, n);
  x = e + 1.0;
  scale(x, n);
}

WOOTZ_INLINE void sigmoid_of(Lanes& x) {
  Lanes e = -x;
  exp_of(e);
  x = 1.0 / (1.0 + e);
}

/// By m = e^(2|x|) - 1: tanh |x| = m / (m + 2).
WOOTZ_INLINE void tanh_of(Lanes& x) {
  Lanes size, m;
  absolute(x, size);
  size = size + size;
  clamp(size, 0, 44);
  Bits n;
  reduce(size, m, n);
  const Lanes power = reinterpret_cast<Lanes>((n + 1023) << 52);
  m = m * power + (power - 1.0);
  Lanes y = m / (m + 2.0);
  with_sign_of(x, y);
  x = y;
}

WOOTZ_INLINE void erf_of(Lanes& x) {
  static constexpr double kSmall[] = {  // erf(x) / x in x^2
      1.1283791670955126,    -0.37612638903183543,   0.11283791670945006,    -0.02686617064323777,
      0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707, -1.492473690741966e-05,
      1.6447424703317362e-06, -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10};
  // erfc(x) e^(x^2) in 1 / (x + 2), which runs from 1/8 to 1/3, moved to [-1, 1].
  constexpr double kMiddle = 0.22916666666666666, kHalfWidth = 0.10416666666666667;
  static constexpr double kLarge[] = {
      0.2214295402299318,     0.16189356804102495,     0.038560570425182426,   0.005588816281841403,
      0.00019713917772795885, -8.07922042879663e-05,   -7.340517938287998e-06, 1.9795619759276e-06,
      1.6349937383405805e-07, -7.005371793736792e-08,  -5.886053299221601e-10, 2.625007492297143e-09,
      -2.68698518348558e-10,  -7.468711818050684e-11,  2.2135736614933752e-11, 4.775776110782188e-13,
      -9.369456032869593e-13};
  Lanes size, small, tail;
  absolute(x, size);
  polynomial(kSmall, x * x, small);
  small = small * x;
  const auto is_small = size < 1.0;
  clamp(size, 1, 6);
  Lanes e = -size * size;
  exp_of(e);
  polynomial(kLarge, (1.0 / (size + 2.0) - kMiddle) * (1 / kHalfWidth), tail);
  Lanes large = 1.0 - e * tail;
  with_sign_of(x, large);
  x = is_small ? small : large;
}

WOOTZ_INLINE void relu_of(Lanes& x) { x = x < 0.0 ? Lanes{} : x; }

/// Calls f(lanes) over x, the last of them filled up with `filler`; writes the lanes back where kWrites.
template <bool kWrites, class F>
WOOTZ_INLINE void walk(std::span<double> x, double filler, F&& f) {
  Lanes lanes;
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    std::memcpy(&lanes, x.data() + i, sizeof lanes);
    f(lanes);
    if (kWrites) std::memcpy(x.data() + i, &lanes, sizeof lanes);
  }
  if (i == x.size()) return;
  lanes = filler - Lanes{};
  std::memcpy(&lanes, x.data() + i, (x.size() - i) * sizeof(double));
  f(lanes);
  if (kWrites) std::memcpy(x.data() + i, &lanes, (x.size() - i) * sizeof(double));
}

/// The sum of f(lanes) over x: four sums side by side, for an addition takes as long as four can be begun in.
/// What fills up the last lanes counts as `filler`.
template <class F>
WOOTZ_INLINE double sum_over(std::span<const double> x, double filler, F&& f) {
  constexpr size_t kSums = 4;
  Lanes sums[kSums] = {}, lanes;
  size_t i = 0;
  for (; i + kSums * kLanes <= x.size(); i += kSums * kLanes)
    for (size_t k = 0; k < kSums; ++k) {
      std::memcpy(&lanes, x.data() + i + k * kLanes, sizeof lanes);
      f(lanes);
      sums[k] += lanes;
    }
  for (; i < x.size(); i += kLanes) {
    lanes = filler - Lanes{};
    std::memcpy(&lanes, x.data() + i, (x.size() - i < kLanes ? x.size() - i : kLanes) * sizeof(double));
    f(lanes);
    sums[0] += lanes;
  }
  const Lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0;
  for (size_t k = 0; k < kLanes; ++k) sum += all[k];
  return sum;
}

template <void (*kFunction)(Lanes&)>
WOOTZ_INLINE void over(std::span<double> x) {
  walk<true>(x, 0, [](Lanes& lanes) __attribute__((always_inline)) { kFunction(lanes); });
}

WOOTZ_INLINE void softmax(std::span<double> x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Lanes tops = -kInfinity - Lanes{}, sums = {};
  Bits is_nan = {};
  walk<false>(x, -kInfinity, [&](Lanes& lanes) __attribute__((always_inline)) {
    is_nan |= lanes != lanes;
    tops = lanes > tops ? lanes : tops;
  });
  double top = tops[0], sum = 0;
  for (size_t k = 0; k < kLanes; ++k) top = is_nan[k] ? std::numeric_limits<double>::quiet_NaN()
                                            : tops[k] > top ? tops[k] : top;
  walk<true>(x, -kInfinity, [&](Lanes& lanes) __attribute__((always_inline)) {
    lanes = lanes - top;
    exp_of(lanes);
    sums += lanes;
  });
  for (size_t k = 0; k < kLanes; ++k) sum += sums[k];
  const double share = 1 / sum;  // one division: they take as long as the powers
  walk<true>(x, 0, [&](Lanes& lanes) __attribute__((always_inline)) { lanes = lanes * share; });
}

typedef float Floats __attribute__((vector_size(64)));
typedef float HalfFloats __attribute__((vector_size(32)));
constexpr size_t kFloats = sizeof(Floats) / sizeof(float);

template <Arithmetic kOp, class T>
WOOTZ_INLINE void apply(const T& x, const T& y, T& result) {
  if constexpr (kOp == Arithmetic::kAdd) result = x + y;
  if constexpr (kOp == Arithmetic::kSubtract) result = x - y;
  if constexpr (kOp == Arithmetic::kMultiply) result = x * y;
  if constexpr (kOp == Arithmetic::kDivide) result = x / y;
}

template <Arithmetic kOp>
WOOTZ_INLINE void combine_by(const float* a, int64_t a_stride, const float* b, int64_t b_stride, size_t n,
                             float* to) {
  size_t i = 0;
  Floats x = *a - Floats{}, y = *b - Floats{};
  for (; i + kFloats <= n; i += kFloats) {
    if (a_stride) std::memcpy(&x, a + i, sizeof x);
    if (b_stride) std::memcpy(&y, b + i, sizeof y);
    Floats result;
    apply<kOp>(x, y, result);
    std::memcpy(to + i, &result, sizeof result);
  }
  for (; i < n; ++i) apply<kOp>(a[a_stride ? i : 0], b[b_stride ? i : 0], to[i]);
}

}  // namespace

// Clones for wide registers; nothing is contracted, so that all round alike.
#define WOOTZ_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
WOOTZ_CLONES void exp_all(std::span<double> x) { over<exp_of>(x); }
WOOTZ_CLONES void sigmoid_all(std::span<double> x) { over<sigmoid_of>(x); }
WOOTZ_CLONES void tanh_all(std::span<double> x) { over<tanh_of>(x); }
WOOTZ_CLONES void erf_all(std::span<double> x) { over<erf_of>(x); }
WOOTZ_CLONES void relu_all(std::span<double> x) { over<relu_of>(x); }
WOOTZ_CLONES void softmax_all(std::span<double> x) { softmax(x); }

WOOTZ_CLONES double sum_of(std::span<const double> x) {
  return sum_over(x, 0, [](Lanes&) __attribute__((always_inline)) {});
}

WOOTZ_CLONES double squares_around(double mean, std::span<const double> x) {
  return sum_over(x, mean, [mean](Lanes& lanes) __attribute__((always_inline)) {
    lanes = lanes - mean;
    lanes = lanes * lanes;
  });
}

WOOTZ_CLONES void scale_all(std::span<double> x, double subtracted, double factor, double added) {
  walk<true>(x, 0, [=](Lanes& lanes) __attribute__((always_inline)) {
    lanes = (lanes - subtracted) * factor + added;
  });
}

WOOTZ_CLONES void scale_each(std::span<double> x, const double* factors, const double* added) {
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    Lanes lanes, factor, term = {};
    std::memcpy(&lanes, x.data() + i, sizeof lanes);
    std::memcpy(&factor, factors + i, sizeof factor);
    if (added) std::memcpy(&term, added + i, sizeof term);
    lanes = lanes * factor + term;
    std::memcpy(x.data() + i, &lanes, sizeof lanes);
  }
  for (; i < x.size(); ++i) x[i] = x[i] * factors[i] + (added ? added[i] : 0.0);
}

WOOTZ_CLONES void widen(const float* from, size_t n, double* to) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    HalfFloats narrow;
    std::memcpy(&narrow, from + i, sizeof narrow);
    const Lanes wide = __builtin_convertvector(narrow, Lanes);
    std::memcpy(to + i, &wide, sizeof wide);
  }
  for (; i < n; ++i) to[i] = static_cast<double>(from[i]);
}

WOOTZ_CLONES void narrow(const double* from, size_t n, float* to) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Lanes wide;
    std::memcpy(&wide, from + i, sizeof wide);
    const HalfFloats narrow = __builtin_convertvector(wide, HalfFloats);
    std::memcpy(to + i, &narrow, sizeof narrow);
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

WOOTZ_CLONES void combine(Arithmetic op, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                          size_t n, float* to) {
  switch (op) {
    case Arithmetic::kAdd: return combine_by<Arithmetic::kAdd>(a, a_stride, b, b_stride, n, to);
    case Arithmetic::kSubtract: return combine_by<Arithmetic::kSubtract>(a, a_stride, b, b_stride, n, to);
    case Arithmetic::kMultiply: return combine_by<Arithmetic::kMultiply>(a, a_stride, b, b_stride, n, to);
    case Arithmetic::kDivide: return combine_by<Arithmetic::kDivide>(a, a_stride, b, b_stride, n, to);
  }
}

}  // namespace wootz
