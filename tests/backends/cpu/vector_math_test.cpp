// SPDX-License-Identifier: Apache-2.0
// Errors of the vector functions in units in the last place, against the C library in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz {
namespace {

double ulp_error(float found, double expected) {
  const float nearest = static_cast<float>(expected);
  if (std::isnan(expected)) return std::isnan(found) ? 0 : 1e30;
  if (std::isinf(nearest) || std::isinf(found)) return nearest == found ? 0 : 1e30;
  int exponent = 0;
  std::frexp(std::fabs(nearest), &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  // A factor that is denormal has few bits: products such as x * sigmoid(x) inherit its error.
  return std::max(0.0, std::fabs(found - expected) - 1e-43) / ulp;
}

struct Case {
  const char* name;
  int kernel;
  double (*expected)(double);
  float low, high;   // the sweep; special values are always tried
  double bound_ulp;  // measured, rounded up
  float alpha = 0, beta = 0;
};

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double silu(double x) { return x * sigmoid(x); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double elu(double x) { return x < 0 ? std::expm1(x) : x; }

const Case kCases[] = {
    {"exp", tile_kernel_id(ScalarOp::kExp), [](double x) { return std::exp(x); }, -110, 95, 1.5},
    {"log", tile_kernel_id(ScalarOp::kLog), [](double x) { return std::log(x); }, 1e-3f, 4, 1.5},
    {"log far", tile_kernel_id(ScalarOp::kLog), [](double x) { return std::log(x); }, 1e-45f, 3e38f, 1.5},
    {"tanh", tile_kernel_id(ScalarOp::kTanh), [](double x) { return std::tanh(x); }, -12, 12, 2},
    {"sigmoid", tile_kernel_id(ScalarOp::kSigmoid), sigmoid, -110, 30, 2.5},
    {"erf", tile_kernel_id(ScalarOp::kErf), [](double x) { return std::erf(x); }, -5, 5, 3},
    {"sin", tile_kernel_id(ScalarOp::kSin), [](double x) { return std::sin(x); }, -1000, 1000, 1.5},
    {"cos", tile_kernel_id(ScalarOp::kCos), [](double x) { return std::cos(x); }, -1000, 1000, 1.5},
    {"sin far", tile_kernel_id(ScalarOp::kSin), [](double x) { return std::sin(x); }, -1e8f, 1e8f, 1.5},
    {"softplus", tile_kernel_id(ScalarOp::kSoftplus), softplus, -110, 30, 2.5},
    {"gelu", tile_kernel_id(ScalarOp::kGelu), gelu, -3, 6, 16},
    {"silu", tile_kernel_id(ScalarOp::kSilu), silu, -80, 30, 3, 1},
    {"mish", tile_kernel_id(ScalarOp::kMish), mish, -80, 30, 5},
    {"elu", tile_kernel_id(ScalarOp::kElu), elu, -20, 5, 2, 1},
};

const float kSpecial[] = {0.0f,
                          -0.0f,
                          1e-45f,
                          -1e-45f,
                          1e-39f,
                          -1e-39f,
                          1.0f,
                          -1.0f,
                          1e-10f,
                          -1e-10f,
                          3e38f,
                          -3e38f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(),
                          88.7f,
                          88.8f,
                          -87.4f,
                          -103.0f,
                          -104.0f,
                          0.625f,
                          0.3466f};

class VectorMath : public testing::TestWithParam<VectorTarget> {
 protected:
  void SetUp() override {
    before_ = vector_target();
    if (!set_vector_target(GetParam())) GTEST_SKIP() << "this CPU lacks the instruction set";
  }
  void TearDown() override { set_vector_target(before_); }

 private:
  VectorTarget before_;
};

std::vector<float> sweep(const Case& c) {
  std::vector<float> values(std::begin(kSpecial), std::end(kSpecial));
  for (int i = 0; i < 200000; ++i)
    values.push_back(c.low + (c.high - c.low) * static_cast<float>(i) / 200000.0f);
  for (int i = 0; i < 2000; ++i) values.push_back(std::ldexp(1.0f + static_cast<float>(i % 7) / 7, -i % 40));
  return values;
}

TEST_P(VectorMath, StaysWithinItsStatedError) {
  for (const Case& c : kCases) {
    const std::vector<float> x = sweep(c);
    std::vector<float> y(x.size());
    TileArgs args;
    args.in[0] = x.data(), args.stride[0] = 1, args.out = y.data(), args.count = static_cast<int>(x.size());
    args.alpha = c.alpha, args.beta = c.beta;
    tile_functions()[c.kernel](args);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error(y[i], c.expected(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
    EXPECT_LE(worst, c.bound_ulp) << c.name << " at " << at;
    RecordProperty(c.name, std::to_string(worst));
  }
}

TEST_P(VectorMath, FarTailsKeepRelativeAccuracy) {
  // gelu(-x) for large x is a tiny number; its relative error is bounded, not that of 1 + erf.
  std::vector<float> x, y;
  for (float v = -13; v < -3; v += 0.001f) x.push_back(v);
  y.resize(x.size());
  TileArgs args;
  args.in[0] = x.data(), args.stride[0] = 1, args.out = y.data(), args.count = static_cast<int>(x.size());
  tile_functions()[tile_kernel_id(ScalarOp::kGelu)](args);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], gelu(x[i]), 3e-5 * std::fabs(gelu(x[i])) + 2e-45) << x[i];
}

INSTANTIATE_TEST_SUITE_P(Targets, VectorMath,
                         testing::Values(VectorTarget::kSse4, VectorTarget::kAvx2, VectorTarget::kAvx512));

}  // namespace
}  // namespace wootz
