// SPDX-License-Identifier: Apache-2.0
// Elementary functions on Highway vectors of float32, once for each instruction set; included after hwy/highway.h. Polynomials are minimax fits made for this file (reweighted least squares on Chebyshev nodes, in
// double); tests/backends/vector_math_test.cpp states the measured errors in units in the last place.
#if defined(WOOTZ_VECTOR_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_VECTOR_MATH_H_
#undef WOOTZ_VECTOR_MATH_H_
#else
#define WOOTZ_VECTOR_MATH_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::ScalableTag<int32_t>;
using V = hn::Vec<F>;
using VI = hn::Vec<I>;

inline HWY_ATTR V constant(float x) { return hn::Set(F(), x); }

/// c[0] + x * c[1] + x^2 * c[2] + ...
template <class... C>
HWY_INLINE HWY_ATTR V polynomial(V x, float c0, C... rest) {
  if constexpr (sizeof...(rest) == 0) return constant(c0);
  else return hn::MulAdd(polynomial(x, rest...), x, constant(c0));
}

/// The machine's min and max return the second operand when one is NaN; these keep a NaN of x.
HWY_INLINE HWY_ATTR V at_most(V x, V limit) { return hn::Min(limit, x); }
HWY_INLINE HWY_ATTR V at_least(V x, V limit) { return hn::Max(limit, x); }

/// x * 2^n for |n| < 250, in two steps, so that results may be denormal.
HWY_INLINE HWY_ATTR V scale_by_power(V x, VI n) {
  const VI half = hn::ShiftRight<1>(n);
  const VI rest = hn::Sub(n, half);
  const VI bias = hn::Set(I(), 127);
  const V first = hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(rest, bias)));
  return hn::Mul(hn::Mul(x, first), second);
}

/// e^r - 1 for |r| <= ln(2) / 2.
HWY_INLINE HWY_ATTR V expm1_reduced(V r) {
  const V q = polynomial(r, 0.5f, 0.166666657f, 0.0416662954f, 0.00833349768f, 0.00139447581f, 0.000197902438f);
  return hn::MulAdd(hn::Mul(r, r), q, r);
}

HWY_INLINE HWY_ATTR V exp_of(V x) {
  x = at_least(at_most(x, constant(89.0f)), constant(-104.5f));
  const V n = hn::Round(hn::Mul(x, constant(1.44269504f)));
  V r = hn::NegMulAdd(n, constant(0.693145752f), x);
  r = hn::NegMulAdd(n, constant(1.42860677e-6f), r);
  return scale_by_power(hn::Add(expm1_reduced(r), constant(1.0f)), hn::ConvertTo(I(), n));
}

HWY_INLINE HWY_ATTR V expm1_of(V x) {
  const V small = expm1_reduced(x);
  const V large = hn::Sub(exp_of(x), constant(1.0f));
  return hn::IfThenElse(hn::Le(hn::Abs(x), constant(0.3466f)), small, large);
}

HWY_INLINE HWY_ATTR V log_of(V x) {
  const auto denormal = hn::Lt(x, constant(1.17549435e-38f));
  const V scaled = hn::IfThenElse(denormal, hn::Mul(x, constant(8388608.0f)), x);
  const VI bits = hn::BitCast(I(), scaled);
  const VI exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(I(), 0x3f3504f3)));   // mantissa in [sqrt(1/2), sqrt(2))
  const V f = hn::Sub(hn::BitCast(F(), hn::Sub(bits, hn::ShiftLeft<23>(exponent))), constant(1.0f));
  const V n = hn::Sub(hn::ConvertTo(F(), exponent), hn::IfThenElseZero(denormal, constant(23.0f)));
  const V square = hn::Mul(f, f);
  const V p = polynomial(f, 0.333333135f, -0.250000089f, 0.200021192f, -0.166679963f, 0.142195523f, -0.124055892f,
                         0.118881628f, -0.116756514f, 0.0674663857f);
  V y = hn::Mul(hn::Mul(square, f), p);
  y = hn::MulAdd(n, constant(1.42860677e-6f), y);
  y = hn::NegMulAdd(constant(0.5f), square, y);
  y = hn::MulAdd(n, constant(0.693145752f), hn::Add(f, y));
  const V infinity = constant(HUGE_VALF);
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);                                        // infinity, NaN
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(F())), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F())), constant(NAN), y);
}

/// log(1 + u) for u in [0, 1].
HWY_INLINE HWY_ATTR V log1p_of_unit(V u) {
  const V w = hn::Add(u, constant(1.0f));
  const V lost = hn::Sub(u, hn::Sub(w, constant(1.0f)));
  return hn::Add(log_of(w), hn::Div(lost, w));
}

HWY_INLINE HWY_ATTR V tanh_of(V x) {
  const V size = hn::Abs(x);
  const V square = hn::Mul(x, x);
  const V p = polynomial(square, -0.333332837f, 0.133314908f, -0.0537434965f, 0.0206505861f, -0.0057170447f);
  const V small = hn::MulAdd(hn::Mul(square, x), p, x);
  const V e = exp_of(hn::Add(size, size));
  const V large = hn::Sub(constant(1.0f), hn::Div(constant(2.0f), hn::Add(e, constant(1.0f))));
  return hn::IfThenElse(hn::Lt(size, constant(0.625f)), small, hn::CopySign(large, x));
}

HWY_INLINE HWY_ATTR V sigmoid_of(V x) {
  const V e = exp_of(hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(F())), e, constant(1.0f));
  return hn::Div(numerator, hn::Add(e, constant(1.0f)));
}

/// erfc(z) for z >= 1: exp(-z^2) * g(1 / (z + 1.5)), with the rounding error of z^2 put back.
HWY_INLINE HWY_ATTR V erfc_of_large(V z) {
  z = at_most(z, constant(12.0f));
  const V t = hn::Div(constant(1.0f), hn::Add(z, constant(1.5f)));
  const V g = polynomial(t, -2.58655155e-06f, 0.56433332f, 0.842832148f, 1.03431439f, 0.236326724f, 1.6387043f,
                         -9.4743042f, 12.5116758f, -5.67491102f);
  const V square = hn::Mul(z, z);
  const V lost = hn::MulSub(z, z, square);
  const V e = exp_of(hn::Neg(square));
  return hn::Mul(hn::NegMulAdd(e, lost, e), g);
}

/// erf(x) for |x| < 1.
HWY_INLINE HWY_ATTR V erf_of_small(V x) {
  const V p = polynomial(hn::Mul(x, x), 1.12837923f, -0.376126379f, 0.112837821f, -0.0268654004f, 0.00522094546f,
                         -0.000848282885f, 0.000112569491f, -9.64151968e-06f);
  return hn::Mul(x, p);
}

HWY_INLINE HWY_ATTR V erf_of(V x) {
  const V size = hn::Abs(x);
  const V large = hn::CopySign(hn::Sub(constant(1.0f), erfc_of_large(size)), x);
  return hn::IfThenElse(hn::Lt(size, constant(1.0f)), erf_of_small(x), large);
}

/// x * (1 + erf(x / sqrt(2))) / 2; negative x go through erfc and keep their relative accuracy.
HWY_INLINE HWY_ATTR V gelu_of(V x) {
  const V z = hn::Mul(x, constant(0.707106781f));
  const V size = hn::Abs(z);
  const V tail = erfc_of_large(size);
  const V large = hn::IfThenElse(hn::Lt(x, hn::Zero(F())), tail, hn::Sub(constant(2.0f), tail));
  const V small = hn::Add(constant(1.0f), erf_of_small(z));
  const V factor = hn::IfThenElse(hn::Lt(size, constant(1.0f)), small, large);
  return hn::Mul(hn::Mul(x, constant(0.5f)), factor);
}

/// gelu by tanh(u), written as x * sigmoid(2u) so that negative x keep their relative accuracy.
HWY_INLINE HWY_ATTR V gelu_tanh_of(V x) {
  const V cubic = hn::MulAdd(hn::Mul(hn::Mul(x, x), constant(0.044715f)), x, x);
  return hn::Mul(x, sigmoid_of(hn::Mul(cubic, constant(1.59576912f))));
}

HWY_INLINE HWY_ATTR V softplus_of(V x) {
  return hn::Add(at_least(x, hn::Zero(F())), log1p_of_unit(exp_of(hn::Neg(hn::Abs(x)))));
}

/// x * tanh(softplus(x)) = x * (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x); above 20 it is x.
HWY_INLINE HWY_ATTR V mish_of(V x) {
  const V e = exp_of(at_most(x, constant(20.0f)));
  const V n = hn::MulAdd(e, e, hn::Add(e, e));
  return hn::Mul(x, hn::Div(n, hn::Add(n, constant(2.0f))));
}

/// sin (quadrants = 0) or cos (quadrants = 1) for |x| <= 8192.
HWY_INLINE HWY_ATTR V sine_of(V x, int quadrants) {
  const V n = hn::Round(hn::Mul(x, constant(0.636619772f)));
  V r = hn::NegMulAdd(n, constant(1.5703125f), x);
  r = hn::NegMulAdd(n, constant(4.8351287841796875e-4f), r);
  r = hn::NegMulAdd(n, constant(3.1385570764541626e-7f), r);
  r = hn::NegMulAdd(n, constant(6.0770943832721969e-11f), r);
  const VI quadrant = hn::Add(hn::ConvertTo(I(), n), hn::Set(I(), quadrants));
  const V square = hn::Mul(r, r);
  const V s = hn::MulAdd(hn::Mul(square, r),
                         polynomial(square, -0.166666672f, 0.00833332911f, -0.000198393274f, 2.71823728e-06f), r);
  const V half = hn::NegMulAdd(square, constant(0.5f), constant(1.0f));
  const V c = hn::MulAdd(hn::Mul(square, square), polynomial(square, 0.0416666679f, -0.00138888834f, 2.47995122e-05f,
                                                            -2.72095463e-07f), half);
  const auto odd = hn::Ne(hn::And(quadrant, hn::Set(I(), 1)), hn::Zero(I()));
  const V sign = hn::BitCast(F(), hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(I(), 2))));
  return hn::Xor(hn::IfThenElse(hn::RebindMask(F(), odd), c, s), sign);
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif
