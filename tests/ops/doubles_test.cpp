// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace wootz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

/// What an infinity, a number below and above every range, and NaN become.
void expect_clamped(DType dtype, double least, double most) {
  SCOPED_TRACE(dtype_name(dtype));
  Tensor t = Tensor::zeros(dtype, {5});
  store_doubles(std::array{-kInfinity, -1e300, 1e300, kInfinity, kNan}, t);
  EXPECT_EQ(t.to_doubles(), (std::vector<double>{least, least, most, most, 0}));
}

TEST(Doubles, AreClampedToIntegersOfEveryWidth) {
  expect_clamped(DType::kInt2, -2, 1);
  expect_clamped(DType::kUint2, 0, 3);
  expect_clamped(DType::kInt4, -8, 7);
  expect_clamped(DType::kUint4, 0, 15);
  expect_clamped(DType::kInt8, -128, 127);
  expect_clamped(DType::kUint8, 0, 255);
  expect_clamped(DType::kInt16, -32768, 32767);
  expect_clamped(DType::kUint16, 0, 65535);
  expect_clamped(DType::kInt32, -2147483648.0, 2147483647.0);
  expect_clamped(DType::kUint32, 0, 4294967295.0);
  expect_clamped(DType::kInt64, -0x1p63, 0x1p63);  // as a double, the largest rounds up
}

TEST(Doubles, SaturateAtTheEndsOfInt64) {
  EXPECT_EQ(saturated_int64(1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(saturated_int64(-kInfinity), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(saturated_int64(kNan), 0);
  EXPECT_EQ(saturated_int64(-2.75), -2);
}

}  // namespace
}  // namespace wootz
