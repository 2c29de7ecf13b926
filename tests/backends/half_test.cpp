// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

TEST(HalfTactics, ConvolutionWithTail) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    RegionCase region;
    Attributes a;
    a.set("pads", Ints{1, 1, 1, 1});
    Value* y = region.add("Conv",
                          {region.input({1, 16, 9, 10}, Order::kChannelsLast, false, 1, dtype),
                           region.constant({24, 16, 3, 3}, 1, dtype), region.constant({24}, 1, dtype)},
                          a);
    region.finish(region.add("Relu", {y}), Order::kChannelsLast);
    const auto served = region.check(dtype == DType::kFloat16 ? 2e-3 : 1.6e-2);
    EXPECT_TRUE(served.contains("cpu.half.conv.implicit_gemm"))
        << region.refusal("cpu.half.conv.implicit_gemm");
    EXPECT_TRUE(served.contains("cpu.half.conv.winograd"));
  }
}

TEST(HalfTactics, ProductOfActivations) {
  RegionCase region;
  const auto f16 = DType::kFloat16;
  region.finish(region.add("MatMul", {region.input({2, 9, 20}, Order::kRowMajor, false, 1, f16),
                                      region.input({2, 20, 17}, Order::kRowMajor, false, 1, f16)}));
  EXPECT_TRUE(region.check(2e-3).contains("cpu.half.matmul.batched"));
}

TEST(HalfTactics, FloatProblemsAreLeftToFloatTactics) {
  RegionCase region;
  region.finish(region.add("MatMul", {region.input({9, 20}), region.constant({20, 17})}));
  EXPECT_FALSE(region.check().contains("cpu.half.matmul.packed"));
  EXPECT_EQ(region.refusal("cpu.half.matmul.packed"), "no 16-bit floating-point operand");
}

}  // namespace
}  // namespace wootz::test
