// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

constexpr auto kU8 = DType::kUint8, kI8 = DType::kInt8;

Value* byte(RegionCase& region, DType dtype, bool constant = false) {
  return region.input(Dims{}, Order::kRowMajor, constant, 1, dtype);
}

TEST(MatMulIntegerTactic, EveryPairOfTypes) {
  for (DType a : {kU8, kI8})
    for (DType b : {kU8, kI8})
      for (const Dims& size : {Dims{1, 5, 3}, Dims{7, 64, 17}, Dims{50, 33, 130}, Dims{3, 100, 70}}) {
        RegionCase region;
        Value* y =
            region.add("MatMulInteger",
                       {region.input({size[0], size[1]}, Order::kRowMajor, false, 1, a),
                        region.constant({size[1], size[2]}, 1, b), byte(region, a), byte(region, b, true)});
        region.finish(y);
        EXPECT_TRUE(region.check(0).contains("cpu.matmul_integer.packed"))
            << region.refusal("cpu.matmul_integer.packed");
      }
}

TEST(MatMulIntegerTactic, CastScaleAndBias) {
  RegionCase region;
  Value* y = region.add(
      "MatMulInteger", {region.input({2, 9, 40}, Order::kRowMajor, false, 1, kU8),
                        region.constant({40, 70}, 1, kI8), byte(region, kU8), region.constant({70}, 1, kI8)});
  Attributes cast;
  cast.set("to", int64_t{1});
  y = region.add("Mul", {region.add("Cast", {y}, cast), region.input(Dims{})});
  region.finish(region.add("Relu", {region.add("Add", {y, region.constant({70})})}));
  EXPECT_TRUE(region.check(1e-6).contains("cpu.matmul_integer.packed"))
      << region.refusal("cpu.matmul_integer.packed");
}

TEST(ConvIntegerTactic, PaddingGroupsAndBothLayouts) {
  for (Order order : {Order::kRowMajor, Order::kChannelsLast})
    for (int64_t group : {1, 4})
      for (DType w : {kU8, kI8}) {
        RegionCase region;
        Attributes a;
        a.set("pads", Ints{1, 0, 2, 1});
        a.set("strides", Ints{2, 1});
        a.set("group", group);
        Value* y =
            region.add("ConvInteger",
                       {region.input({2, 8, 9, 11}, order, false, 1, kU8),
                        region.constant({12, 8 / group, 3, 3}, 1, w), byte(region, kU8), byte(region, w)},
                       a);
        region.finish(y, order);
        EXPECT_TRUE(region.check(0).contains("cpu.conv_integer.gather"))
            << region.refusal("cpu.conv_integer.gather");
      }
}

}  // namespace
}  // namespace wootz::test
