// SPDX-License-Identifier: Apache-2.0
// The scalar instructions (ops/scalar.h) on registers.
namespace wz {

// Integers: arithmetic wraps.
template <class T> WZ_FN T add(T a, T b) { return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b)); }
template <class T> WZ_FN T sub(T a, T b) { return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b)); }
template <class T> WZ_FN T mul(T a, T b) { return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b)); }
template <class T> WZ_FN T neg(T a) { return static_cast<T>(0 - static_cast<u64>(a)); }
template <class T> WZ_FN T div(T a, T b) {
  if (b == 0) return 0;
  if (static_cast<T>(-1) < static_cast<T>(0) && b == static_cast<T>(-1)) return neg(a);
  return static_cast<T>(a / b);
}
template <class T> WZ_FN T fmod(T a, T b) {
  if (b == 0 || (static_cast<T>(-1) < static_cast<T>(0) && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}
template <class T> WZ_FN T mod(T a, T b) {
  const T rest = fmod(a, b);
  return rest != 0 && (rest < static_cast<T>(0)) != (b < static_cast<T>(0)) ? static_cast<T>(rest + b) : rest;
}
template <class T> WZ_FN T pow(T a, T b) {
  if (static_cast<T>(-1) < static_cast<T>(0) && b < static_cast<T>(0))
    return a == 1 ? 1 : a == static_cast<T>(-1) ? ((b & 1) ? a : static_cast<T>(1)) : static_cast<T>(0);
  u64 result = 1, base = static_cast<u64>(a);
  for (u64 e = static_cast<u64>(b); e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return static_cast<T>(result);
}
template <class T> WZ_FN T min(T a, T b) { return a < b ? a : b; }
template <class T> WZ_FN T max(T a, T b) { return a > b ? a : b; }
template <class T> WZ_FN T abs(T a) { return a < static_cast<T>(0) ? neg(a) : a; }
template <class T> WZ_FN T sign(T a) { return static_cast<T>((a > static_cast<T>(0)) - (a < static_cast<T>(0))); }
template <class T> WZ_FN T relu(T a) { return a < static_cast<T>(0) ? static_cast<T>(0) : a; }
template <class T> WZ_FN T prelu(T a, T slope) { return a < static_cast<T>(0) ? mul(a, slope) : a; }
template <class T> WZ_FN T shift_left(T a, T b) {
  return static_cast<u64>(b) > 63 ? static_cast<T>(0) : static_cast<T>(static_cast<u64>(a) << static_cast<u64>(b));
}
template <class T> WZ_FN T shift_right(T a, T b) {
  const int width = static_cast<int>(sizeof(T)) * 8;
  if (static_cast<u64>(b) >= static_cast<u64>(width)) return static_cast<T>(a < static_cast<T>(0) ? -1 : 0);
  return static_cast<T>(a >> b);
}

#define WZ_FLOAT_OPS(T, f)                                                                               \
  WZ_FN T add(T a, T b) { return a + b; }                                                                \
  WZ_FN T sub(T a, T b) { return a - b; }                                                                \
  WZ_FN T mul(T a, T b) { return a * b; }                                                                \
  WZ_FN T div(T a, T b) { return a / b; }                                                                \
  WZ_FN T neg(T a) { return -a; }                                                                        \
  WZ_FN T pow(T a, T b) { return ::pow##f(a, b); }                                                       \
  WZ_FN T fmod(T a, T b) { return ::fmod##f(a, b); }                                                     \
  WZ_FN T mod(T a, T b) {                                                                                \
    const T rest = ::fmod##f(a, b);                                                                      \
    if (rest == 0) return ::copysign##f(T(0), b);                                                        \
    return (rest < 0) != (b < 0) ? rest + b : rest;                                                      \
  }                                                                                                      \
  WZ_FN T abs(T a) { return ::fabs##f(a); }                                                              \
  WZ_FN T sign(T a) { return a != a ? a : T((a > 0) - (a < 0)); }                                        \
  WZ_FN T sqrt(T a) { return ::sqrt##f(a); }                                                             \
  WZ_FN T reciprocal(T a) { return T(1) / a; }                                                           \
  WZ_FN T exp(T a) { return ::exp##f(a); }                                                               \
  WZ_FN T log(T a) { return ::log##f(a); }                                                               \
  WZ_FN T sin(T a) { return ::sin##f(a); }                                                               \
  WZ_FN T cos(T a) { return ::cos##f(a); }                                                               \
  WZ_FN T tan(T a) { return ::tan##f(a); }                                                               \
  WZ_FN T asin(T a) { return ::asin##f(a); }                                                             \
  WZ_FN T acos(T a) { return ::acos##f(a); }                                                             \
  WZ_FN T atan(T a) { return ::atan##f(a); }                                                             \
  WZ_FN T sinh(T a) { return ::sinh##f(a); }                                                             \
  WZ_FN T cosh(T a) { return ::cosh##f(a); }                                                             \
  WZ_FN T tanh(T a) { return ::tanh##f(a); }                                                             \
  WZ_FN T asinh(T a) { return ::asinh##f(a); }                                                           \
  WZ_FN T acosh(T a) { return ::acosh##f(a); }                                                           \
  WZ_FN T atanh(T a) { return ::atanh##f(a); }                                                           \
  WZ_FN T erf(T a) { return ::erf##f(a); }                                                               \
  WZ_FN T floor(T a) { return ::floor##f(a); }                                                           \
  WZ_FN T ceil(T a) { return ::ceil##f(a); }                                                             \
  WZ_FN T round(T a) { return ::rint##f(a); }                                                            \
  WZ_FN T sigmoid(T a) { return T(1) / (T(1) + ::exp##f(-a)); }                                          \
  WZ_FN T softplus(T a) { return (a > 0 ? a : T(0)) + ::log1p##f(::exp##f(-::fabs##f(a))); }             \
  WZ_FN T softsign(T a) { return a / (T(1) + ::fabs##f(a)); }                                            \
  WZ_FN T leaky_relu(T a, T alpha) { return a < 0 ? alpha * a : a; }                                     \
  WZ_FN T elu(T a, T alpha) { return a < 0 ? alpha * ::expm1##f(a) : a; }                                \
  WZ_FN T celu(T a, T alpha) { return a < 0 ? alpha * ::expm1##f(a / alpha) : a; }                       \
  WZ_FN T selu(T a, T alpha, T gamma) { return gamma * (a > 0 ? a : alpha * ::expm1##f(a)); }            \
  WZ_FN T thresholded_relu(T a, T alpha) { return a > alpha ? a : T(0); }                                \
  WZ_FN T hard_sigmoid(T a, T alpha, T beta) {                                                           \
    const T x = alpha * a + beta;                                                                        \
    return x < 0 ? T(0) : x > 1 ? T(1) : x;                                                              \
  }                                                                                                      \
  WZ_FN T hard_swish(T a) { return a * hard_sigmoid(a, T(1) / T(6), T(0.5)); }                           \
  WZ_FN T mish(T a) { return a * ::tanh##f(softplus(a)); }                                               \
  WZ_FN T silu(T a, T alpha) { return a * sigmoid(alpha * a); }                                          \
  WZ_FN T gelu(T a) { return T(0.5) * a * ::erfc##f(-a * T(0.70710678118654752)); }                      \
  WZ_FN T gelu_tanh(T a) {                                                                               \
    return T(0.5) * a * (T(1) + ::tanh##f(T(0.79788456080286536) * (a + T(0.044715) * a * a * a)));      \
  }                                                                                                      \
  WZ_FN T prelu(T a, T slope) { return a < 0 ? a * slope : a; }                                          \
  WZ_FN T shrink(T a, T lambd, T bias) { return a < -lambd ? a + bias : a > lambd ? a - bias : T(0); }   \
  WZ_FN bool is_nan(T a) { return a != a; }                                                              \
  WZ_FN bool is_inf(T a, bool positive, bool negative) {                                                 \
    return a == a && a - a != T(0) && (a > 0 ? positive : negative);                                     \
  }
WZ_FLOAT_OPS(float, f)
WZ_FLOAT_OPS(double, )
WZ_FN float min(float a, float b) { return min_nan(a, b); }
WZ_FN float max(float a, float b) { return max_nan(a, b); }
WZ_FN float relu(float a) { return max_nan(a, 0.0f); }
WZ_FN double min(double a, double b) { return a != a || a < b ? a : b; }
WZ_FN double max(double a, double b) { return a != a || a > b ? a : b; }
WZ_FN double relu(double a) { return a < 0 ? 0 : a; }

// Quantization to 8 bits.
#ifdef WZ_EMULATED
WZ_FN float fused(float a, float b, float c) { return std::fma(a, b, c); }
WZ_FN i32 rounded_integer(float x) {
  return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (i32)std::nearbyint(x);
}
#else
WZ_FN float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
/// To nearest even, saturated; NaN: 0.
WZ_FN i32 rounded_integer(float x) { return __float2int_rn(x); }
#endif
/// x / scale, rounded as a division is, by the scale's reciprocal rounded to float32; kFinite: x is no infinity or NaN.
template <bool kFinite>
WZ_FN float quotient(float x, float scale, float reciprocal) {
  const float q = x * reciprocal, refined = fused(fused(q, -scale, x), reciprocal, q);
  return kFinite || q - q == 0.0f ? refined : q;
}
/// The integer that x is quantized to, before it is saturated to a range of 8 bits; kPositive: x is not below 0.
/// A sum with 1.5 * 2^23 has the rounded integer in its low bits: conversions run at an eighth of the rate of sums.
/// kClose: a product with the reciprocal, which takes the other side of a tie in some 1e-5 of the elements, and is often one
/// instruction with that sum.
template <bool kFinite, int kZero, bool kPositive = false, bool kClose = false>
WZ_FN i32 quantized(float x, float scale, float reciprocal) {
  const float q = kClose && kFinite ? x * reciprocal : quotient<kFinite>(x, scale, reciprocal);
  if (kFinite) {
    constexpr float kLow = -1048576.0f;
    const u32 bits = bits_of_float((kPositive || q > kLow ? q : kLow) + 12582912.0f);
    return static_cast<i32>(bits) - (0x4B400000 - kZero);
  }
  constexpr float kMost = 1073741824.0f;  // that a zero point may be added to
  if (kZero != 0 && q != q) return 0;     // NaN
  if (kZero > 0) return rounded_integer(q > kMost ? kMost : q) + kZero;
  if (kZero < 0) return rounded_integer(q < -kMost ? -kMost : q) + kZero;
  return rounded_integer(q);
}
/// Byte i of a word of T (i8 or u8) as a float.
template <class T>
WZ_FN float float_byte(u32 word, int i) {
#ifdef WZ_EMULATED
  return static_cast<float>(static_cast<T>(word >> (8 * i)));
#else
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  return float_of_bits(__byte_perm(kSigned ? word ^ 0x80808080u : word, 0x4B400000u, 0x7650u | i)) -
         (kSigned ? 12583040.0f : 12582912.0f);
#endif
}
template <class T>
WZ_FN i32 saturated(i32 x) {
  constexpr i32 kLow = static_cast<T>(-1) < static_cast<T>(0) ? -128 : 0;
  return x < kLow ? kLow : x > kLow + 255 ? kLow + 255 : x;
}
/// Four of float8e4m3fn, saturated, the first in the low byte.
WZ_FN u32 pack_float8(const float (&v)[4]) {
#ifdef WZ_EMULATED
  u32 word = 0;
  for (int i = 0; i < 4; ++i) word |= static_cast<u32>(store<f8e4m3fn>(v[i]).bits) << (8 * i);
  return word;
#else
  u32 word;
  asm("{ .reg .b16 low, high;\ncvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\ncvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high}; }"
      : "=r"(word)
      : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]));
  return word;
#endif
}
/// Four of T (i8 or u8), saturated, the first in the low byte.
template <class T>
WZ_FN u32 pack_saturated(const i32 (&v)[4]) {
#ifdef WZ_EMULATED
  u32 word = 0;
  for (int i = 0; i < 4; ++i) word |= (static_cast<u32>(saturated<T>(v[i])) & 255u) << (8 * i);
  return word;
#else
  u32 high, word;
  if (static_cast<T>(-1) < static_cast<T>(0)) {
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(v[3]), "r"(v[2]), "r"(0));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(v[1]), "r"(v[0]), "r"(high));
  } else {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(v[3]), "r"(v[2]), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(v[1]), "r"(v[0]), "r"(high));
  }
  return word;
#endif
}

// The same for results of at most 16 bits: exponentials and tanh by the special function unit.
namespace fast {
constexpr float kLog2E = 1.4426950408889634f;
WZ_FN float exp(float a) { return exp2_approx(a * kLog2E); }
WZ_FN float log(float a) { return log2_approx(a) * 0.69314718055994531f; }
WZ_FN float reciprocal(float a) { return rcp_approx(a); }
/// __fdividef is wrong for divisors above 2^126, which bfloat16 reaches.
WZ_FN float div(float a, float b) {
  const float scale = ::fabsf(b) > 0x1p126f ? 0.25f : 1.0f;
  return __fdividef(a * scale, b * scale);
}
WZ_FN float sigmoid(float a) { return rcp_normal(1.0f + exp2_normal(-kLog2E * a)); }
/// One special function instead of two, of which a multiprocessor has 16 lanes: half of an epilogue's time.
WZ_FN float silu(float a, float alpha) { return 0.5f * a + 0.5f * a * tanh_approx(0.5f * alpha * a); }
/// Unlike the clip, a NaN times 0 is NaN again.
WZ_FN float hard_swish(float a) { return a * saturate(a * (1.0f / 6.0f) + 0.5f); }
WZ_FN float tanh(float a) { return tanh_approx(a); }
/// An odd polynomial up to 3, where erf is 1 - 2e-5: error 4e-5.
WZ_FN float erf(float a) {
  const float t = a * a;
  float y = 4.918275920e-08f;
  y = y * t - 2.267730680e-06f;
  y = y * t + 4.614729190e-05f;
  y = y * t - 5.535572420e-04f;
  y = y * t + 4.437862430e-03f;
  y = y * t - 2.564961280e-02f;
  y = y * t + 1.118625030e-01f;
  y = y * t - 3.758186100e-01f;
  y = y * t + 1.128362890e+00f;
  return ::fabsf(a) >= 3.0f ? ::copysignf(1.0f, a) : a * y;
}
/// a times an odd polynomial for the normal distribution, which leaves [0, 1] beyond 4.3 and is cut off there: error 4e-5,
/// eleven instructions.
WZ_FN float gelu(float a) {
  const float t = a * a;
  float y = 4.197447280e-11f;
  y = y * t - 4.249000849e-09f;
  y = y * t + 1.902241627e-07f;
  y = y * t - 5.006173386e-06f;
  y = y * t + 8.711772060e-05f;
  y = y * t - 1.071386780e-03f;
  y = y * t + 9.695150123e-03f;
  y = y * t - 6.615559796e-02f;
  y = y * t + 3.988020816e-01f;
  return a * saturate(a * y + 0.5f);
}
WZ_FN float gelu_tanh(float a) {
  return 0.5f * a + 0.5f * a * tanh_approx(a * (0.7978845608f + 0.0356774081363f * a * a));
}
/// In front of steps of at least 8e-3: error 3e-4, and that of the special function (2^-11 of it). Six instructions.
WZ_FN float coarse_gelu(float a) {
  const float half = 0.5f * a;
  return half + half * tanh_approx(a * (0.80015708f + 0.03470089f * a * a));
}
WZ_FN float softplus(float a) {
  return (a > 0 ? a : 0.0f) + 0.69314718055994531f * log2_approx(1.0f + exp2_approx(-kLog2E * ::fabsf(a)));
}
/// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2).
WZ_FN float mish(float a) {
  const float e = exp2_approx(kLog2E * ::fminf(a, 20.0f)), n = e * (e + 2.0f);
  return a * (n * rcp_approx(n + 2.0f));
}
WZ_FN float elu(float a, float alpha) { return a < 0 ? alpha * (exp(a) - 1.0f) : a; }
}  // namespace fast

// Casts of floating-point numbers to integers: truncated; what does not fit is the smallest int32 or int64, of which
// narrower types keep the low bits.
WZ_FN i32 to_int(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? static_cast<i32>(x) : static_cast<i32>(0x80000000u);
}
WZ_FN i32 to_int(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? static_cast<i32>(x) : static_cast<i32>(0x80000000u);
}
template <class F>
WZ_FN i64 to_long(F x) {
  return x >= F(-9223372036854775808.0) && x < F(9223372036854775808.0) ? static_cast<i64>(x)
                                                                        : static_cast<i64>(1ull << 63);
}
template <class F>
WZ_FN u64 to_unsigned_long(F x) {
  return x >= F(9223372036854775808.0) && x < F(18446744073709551616.0) ? static_cast<u64>(x)
                                                                         : static_cast<u64>(to_long(x));
}
template <class R, class F> struct RealCast {
  static WZ_FN R of(F x) { return static_cast<R>(to_int(x)); }
};
template <class F> struct RealCast<u32, F> {
  static WZ_FN u32 of(F x) { return static_cast<u32>(to_long(x)); }
};
template <class F> struct RealCast<i64, F> {
  static WZ_FN i64 of(F x) { return to_long(x); }
};
template <class F> struct RealCast<u64, F> {
  static WZ_FN u64 of(F x) { return to_unsigned_long(x); }
};
template <class F> struct RealCast<bool, F> {
  static WZ_FN bool of(F x) { return x != 0; }
};
template <class F> struct RealCast<float, F> {
  static WZ_FN float of(F x) { return static_cast<float>(x); }
};
template <class F> struct RealCast<double, F> {
  static WZ_FN double of(F x) { return static_cast<double>(x); }
};
template <class R> struct Cast {  // from integers
  template <class I> static WZ_FN R of(I x) { return static_cast<R>(x); }
  static WZ_FN R of(float x) { return RealCast<R, float>::of(x); }
  static WZ_FN R of(double x) { return RealCast<R, double>::of(x); }
};
template <> struct Cast<bool> {
  template <class I> static WZ_FN bool of(I x) { return x != 0; }
};
template <class R, class X>
WZ_FN R cast(X x) { return Cast<R>::of(x); }
/// To a float kind M of at most 16 bits, as a register: rounded once.
template <class M> struct NarrowCast {
  static WZ_FN float of(float x) { return load(store<M>(x)); }
  static WZ_FN float of(double x) { return load(store<M>(x)); }
  template <class I> static WZ_FN float of(I x) { return of(sizeof(I) > 2 ? odd_float(static_cast<double>(x)) : static_cast<float>(x)); }
};
template <class M, class X>
WZ_FN float narrow_cast(X x) { return NarrowCast<M>::of(x); }
/// An integer register of less than 8 bits, wrapped.
template <class M, class X>
WZ_FN auto wrap(X x) { return load(store<M>(x)); }

/// a < b with NaN above everything.
template <class T> WZ_FN bool sorts_before(T a, T b) { return a < b; }
WZ_FN bool sorts_before(float a, float b) { return b != b ? a == a : a < b; }
WZ_FN bool sorts_before(double a, double b) { return b != b ? a == a : a < b; }

// Where an element of a padded axis of n comes from.
template <class I> WZ_FN I wrapped_edge(I i, I n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
template <class I> WZ_FN I wrapped_wrap(I i, I n) { return (i % n + n) % n; }
template <class I> WZ_FN I wrapped_reflect(I i, I n) {
  const I period = n > 1 ? 2 * (n - 1) : 1;
  i = (i % period + period) % period;
  return i < n ? i : period - i;
}

/// An index of a dim of `count` elements: negative ones count from the end; what lies outside is clamped, since a kernel
/// cannot refuse.
WZ_FN i64 place_of(i64 index, i64 count) {
  index = index < 0 ? index + count : index;
  return index < 0 ? 0 : index >= count ? count - 1 : index;
}

}  // namespace wz
