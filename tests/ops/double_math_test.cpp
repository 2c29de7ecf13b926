// SPDX-License-Identifier: Apache-2.0
#include "ops/double_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace wootz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> drawn(double least, double most, size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(least, most);
  std::vector<double> x(count);
  for (double& v : x) v = draw(random);
  return x;
}

/// Largest error in units in the last place against `exact`, which computes in long double.
template <class F>
double worst_ulps(void (*all)(std::span<double>), F exact, double least, double most) {
  const std::vector<double> x = drawn(least, most, 20'003);  // a last block that is not full
  std::vector<double> y = x;
  all(y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = exact(static_cast<long double>(x[i]));
    const double size = std::fabs(static_cast<double>(want));
    const double unit = std::max(std::nextafter(size, kInfinity) - size, 0x1p-1074);
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(y[i]) - want)) / unit);
  }
  return worst;
}

TEST(DoubleMath, StaysWithinThreeUnitsInTheLastPlace) {
  const auto exp = [](long double x) { return std::exp(x); };
  const auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const auto tanh = [](long double x) { return std::tanh(x); };
  const auto erf = [](long double x) { return std::erf(x); };
  for (const auto& [least, most] : {std::pair(-1e-4, 1e-4), {-1.3, 1.3}, {-30.0, 30.0}}) {
    EXPECT_LE(worst_ulps(exp_all, exp, least, most), 3) << most;
    EXPECT_LE(worst_ulps(sigmoid_all, sigmoid, least, most), 3) << most;
    EXPECT_LE(worst_ulps(tanh_all, tanh, least, most), 3) << most;
    EXPECT_LE(worst_ulps(erf_all, erf, least, most), 3) << most;
  }
  EXPECT_LE(worst_ulps(exp_all, exp, -745, -700), 3);  // denormal results
  EXPECT_LE(worst_ulps(exp_all, exp, 700, 709.7), 3);
}

TEST(DoubleMath, EndsAreThoseOfCmath) {
  const auto expect = [](void (*all)(std::span<double>), std::vector<double> want) {
    std::vector<double> x = {0.0, -0.0, kInfinity, -kInfinity, kNan, 1e308, -1e308};
    all(x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::isnan(x[i]), std::isnan(want[i])) << i;
      if (std::isnan(want[i])) continue;
      EXPECT_EQ(x[i], want[i]) << i;
      EXPECT_EQ(std::signbit(x[i]), std::signbit(want[i])) << i;
    }
  };
  expect(exp_all, {1, 1, kInfinity, 0, kNan, kInfinity, 0});
  expect(sigmoid_all, {0.5, 0.5, 1, 0, kNan, 1, 0});
  expect(tanh_all, {0.0, -0.0, 1, -1, kNan, 1, -1});
  expect(erf_all, {0.0, -0.0, 1, -1, kNan, 1, -1});
}

TEST(DoubleMath, SoftmaxSumsToOneAndPassesNanOn) {
  for (size_t n : {1, 7, 8, 9, 1003}) {
    const std::vector<double> x = drawn(-20, 20, n);
    std::vector<double> y = x;
    softmax_all(y);
    double top = -kInfinity, sum = 0;
    for (double v : x) top = std::max(top, v);
    for (double v : x) sum += std::exp(v - top);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], std::exp(x[i] - top) / sum, 1e-15) << n;
  }
  for (double odd : {kNan, kInfinity}) {
    std::vector<double> x(11, 1.0);
    x[9] = odd;
    softmax_all(x);
    for (double v : x) EXPECT_TRUE(std::isnan(v) || (odd == kInfinity && v == 0)) << odd;
    EXPECT_TRUE(std::isnan(x[9]));
  }
  std::vector<double> masked = {-kInfinity, 0, -kInfinity};
  softmax_all(masked);
  EXPECT_EQ(masked, (std::vector<double>{0, 1, 0}));
}

TEST(DoubleMath, FloatArithmeticIsThatOfDoubleRoundedOnce) {
  const size_t n = 1001;
  std::vector<float> a(n), b(n), y(n);
  const std::vector<double> x = drawn(-3, 3, 2 * n);
  narrow(x.data(), n, a.data());
  narrow(x.data() + n, n, b.data());
  for (auto op : {Arithmetic::kAdd, Arithmetic::kSubtract, Arithmetic::kMultiply, Arithmetic::kDivide})
    for (int strides = 0; strides < 4; ++strides) {
      combine(op, a.data(), strides & 1, b.data(), strides >> 1, n, y.data());
      for (size_t i = 0; i < n; ++i) {
        const double p = a[strides & 1 ? i : 0], q = b[strides >> 1 ? i : 0];
        const double want = op == Arithmetic::kAdd        ? p + q
                            : op == Arithmetic::kSubtract ? p - q
                            : op == Arithmetic::kMultiply ? p * q
                                                          : p / q;
        ASSERT_EQ(y[i], static_cast<float>(want)) << i;
      }
    }
}

}  // namespace
}  // namespace wootz
