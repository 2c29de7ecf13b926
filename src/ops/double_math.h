// SPDX-License-Identifier: Apache-2.0
// Elementary functions over whole arrays of doubles, in place, several at a time: a reference that runs over
// millions of elements spends its time in little else. All are within 3 units in the last place, give the
// same bits on every CPU, and treat NaN, infinities, zeros and denormal results as the functions of <cmath>
// do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace wootz {

void exp_all(std::span<double> x);
/// 1 / (1 + exp(-x)).
void sigmoid_all(std::span<double> x);
void tanh_all(std::span<double> x);
void erf_all(std::span<double> x);
/// max(0, x), of NaN itself.
void relu_all(std::span<double> x);
/// exp(x - max) over the sum of them; NaN where one is NaN, and at infinity.
void softmax_all(std::span<double> x);

/// The sum of x and that of (x - mean)^2, by lanes: in another order than from the first to the last.
double sum_of(std::span<const double> x);
double squares_around(double mean, std::span<const double> x);
/// x = (x - subtracted) * factor + added.
void scale_all(std::span<double> x, double subtracted, double factor, double added = 0);
/// x = x * factors + added, element by element; `added` may be null.
void scale_each(std::span<double> x, const double* factors, const double* added);

/// to[i] = from[i], rounded to nearest where that is to float32.
void widen(const float* from, size_t n, double* to);
void narrow(const double* from, size_t n, float* to);

enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide };
/// to[i] = a[i * a_stride] op b[i * b_stride], strides 0 or 1. What double and one rounding give: a double
/// has more than twice the digits of a float.
void combine(Arithmetic op, const float* a, int64_t a_stride, const float* b, int64_t b_stride, size_t n,
             float* to);

}  // namespace wootz
