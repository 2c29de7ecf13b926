// SPDX-License-Identifier: Apache-2.0
// Random operators: only their distribution is defined. Bounds are five standard deviations of the statistic,
// so that the fixed seeds decide nothing but whether the distribution is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/sample_data.h"
#include "tests/ops/run_op.h"

namespace wootz::testing_ops {
namespace {

constexpr int64_t kCount = 20000;

std::vector<double> numbers(const std::string& op, const std::vector<Datum>& inputs, Attrs attributes) {
  attributes.emplace_back("seed", 7.0f);
  return run_one(op, inputs, attributes).to_doubles();
}

/// The largest distance between the numbers' distribution and `cdf` (Kolmogorov and Smirnov).
template <class F>
double distance(std::vector<double> x, F&& cdf) {
  std::sort(x.begin(), x.end());
  double worst = 0;
  const auto n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max({worst, std::fabs(cdf(x[i]) - static_cast<double>(i) / n),
                      std::fabs(cdf(x[i]) - static_cast<double>(i + 1) / n)});
  return worst;
}

/// Exceeded once in about 10^8 draws.
const double kFarthest = 3.1 / std::sqrt(static_cast<double>(kCount));

double uniform_cdf(double x) { return std::clamp((x + 2) / 5, 0.0, 1.0); }
double normal_cdf(double x) { return 0.5 * std::erfc(-(x - 3) / 0.5 / std::sqrt(2.0)); }

TEST(Random, Uniform) {
  const Attrs range = {{"low", -2.0f}, {"high", 3.0f}};
  Attrs shaped = range;
  shaped.emplace_back("shape", Ints{100, kCount / 100});
  const auto x = numbers("RandomUniform", {}, shaped);
  ASSERT_EQ(x.size(), static_cast<size_t>(kCount));
  EXPECT_LT(distance(x, uniform_cdf), kFarthest);
  EXPECT_GE(*std::min_element(x.begin(), x.end()), -2);
  EXPECT_LE(*std::max_element(x.begin(), x.end()), 3);
  const Datum like(Tensor::zeros(DType::kFloat32, {kCount}));
  EXPECT_LT(distance(numbers("RandomUniformLike", {like}, range), uniform_cdf), kFarthest);
}

TEST(Random, Normal) {
  const Attrs bell = {{"mean", 3.0f}, {"scale", 0.5f}};
  Attrs shaped = bell;
  shaped.emplace_back("shape", Ints{kCount});
  EXPECT_LT(distance(numbers("RandomNormal", {}, shaped), normal_cdf), kFarthest);
  const Datum like(Tensor::zeros(DType::kFloat32, {kCount}));
  EXPECT_LT(distance(numbers("RandomNormalLike", {like}, bell), normal_cdf), kFarthest);
}

TEST(Random, Bernoulli) {
  for (const double p : {0.0, 0.1, 0.5, 1.0}) {
    Tensor chance = sample_values(DType::kFloat64, {kCount}, p, p);
    double ones = 0;
    for (double each : numbers("Bernoulli", {Datum(chance)}, {})) {
      EXPECT_TRUE(each == 0 || each == 1);
      ones += each;
    }
    EXPECT_NEAR(ones, p * kCount, 5 * std::sqrt(p * (1 - p) * kCount));
  }
}

TEST(Random, Multinomial) {
  // Logarithms of 1, 2 and 5 eighths, up to a constant.
  const Tensor logits =
      sample_tensor(DType::kFloat32, {1, 3}, {std::log(1.0) + 2, std::log(2.0) + 2, std::log(5.0) + 2});
  const auto x = numbers("Multinomial", {Datum(logits)}, {{"sample_size", int64_t{kCount}}});
  for (int k = 0; k < 3; ++k) {
    const double p = (k == 0 ? 1 : k == 1 ? 2 : 5) / 8.0;
    EXPECT_NEAR(static_cast<double>(std::count(x.begin(), x.end(), k)), p * kCount,
                5 * std::sqrt(p * (1 - p) * kCount));
  }
}

TEST(Random, SeedsRepeatAndDiffer) {
  const auto draw = [](float seed) {
    return run_one("RandomUniform", {}, {{"shape", Ints{50}}, {"seed", seed}}).to_doubles();
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Random, DropoutKeepsTheMean) {
  const Tensor ones = sample_values(DType::kFloat32, {kCount}, 1, 1);
  Tensor training = Tensor::zeros(DType::kBool, {});
  *training.as<bool>() = true;
  const auto y = run_one("Dropout", {Datum(ones), Datum(Tensor::scalar_float(0.25f)), Datum(training)},
                         {{"seed", int64_t{7}}})
                     .to_doubles();
  double sum = 0;
  for (double each : y) {
    EXPECT_TRUE(each == 0 || std::fabs(each - 4.0 / 3) < 1e-6);
    sum += each;
  }
  EXPECT_NEAR(sum, kCount, 5 * 4.0 / 3 * std::sqrt(0.25 * 0.75 * kCount));
}

}  // namespace
}  // namespace wootz::testing_ops
