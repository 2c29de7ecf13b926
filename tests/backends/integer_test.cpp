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

Value* cast(RegionCase& region, Value* v, DType to) {
  Attributes a;
  a.set("to", static_cast<int64_t>(to));
  return region.add("Cast", {v}, a);
}

Value* quantize(RegionCase& region, Value* v, float scale, float zero, DType to) {
  v = region.add("Round", {region.add("Div", {v, region.immediate(scale)})});
  if (zero != 0) v = region.add("Add", {v, region.immediate(zero)});
  const bool is_signed = to == kI8;
  v = region.add("Clip",
                 {v, region.immediate(is_signed ? -128 : 0), region.immediate(is_signed ? 127 : 255)});
  return cast(region, v, to);
}

constexpr double kOneStep = 1.01 / 127;  // a tie may fall to either side

TEST(ConvIntegerTactic, BytesInBytesOut) {
  for (DType x : {kU8, kI8})
    for (DType y : {kU8, kI8})
      for (DType w : {kI8, kU8})
        for (int64_t kernel : {1, 3}) {
          RegionCase region;
          Attributes a;
          a.set("pads", kernel == 1 ? Ints{0, 0, 0, 0} : Ints{1, 0, 2, 1});
          Value* v = region.add("ConvInteger",
                                {region.input({2, 8, 9, 11}, Order::kChannelsLast, false, 1, x),
                                 region.constant({70, 8, kernel, kernel}, 1, w), byte(region, x)},
                                a);
          v = region.add("Mul", {cast(region, v, DType::kFloat32), region.constant({70, 1, 1}, 1e-3f)});
          v = region.add("Relu", {region.add("Add", {v, region.constant({70, 1, 1}, 5)})});
          region.finish(quantize(region, v, 0.3f, y == kI8 ? -5 : 9, y), Order::kChannelsLast);
          EXPECT_TRUE(region.check(kOneStep).contains("cpu.conv_integer.gather"))
              << region.refusal("cpu.conv_integer.gather");
        }
}

TEST(ConvIntegerTactic, ResidualOfBytesBehindAnInnerQuantization) {
  RegionCase region;
  Value* v = region.add("ConvInteger", {region.input({1, 8, 9, 11}, Order::kChannelsLast, false, 1, kU8),
                                        region.constant({20, 8, 1, 1}, 1, kI8), byte(region, kU8)});
  v = region.add("Mul", {cast(region, v, DType::kFloat32), region.constant({20, 1, 1}, 1e-3f)});
  v = cast(region, quantize(region, v, 0.4f, 0, kI8), DType::kFloat32);
  Value* r = cast(region, region.input({1, 20, 9, 11}, Order::kChannelsLast, false, 1, kU8), DType::kFloat32);
  r = region.add("Mul", {region.add("Sub", {r, region.immediate(100)}), region.immediate(0.2f)});
  v = region.add("Add", {region.add("Mul", {v, region.immediate(0.4f)}), r});
  region.finish(quantize(region, v, 0.5f, 30, kU8), Order::kChannelsLast);
  EXPECT_TRUE(region.check(kOneStep).contains("cpu.conv_integer.gather"))
      << region.refusal("cpu.conv_integer.gather");
}

TEST(ConvIntegerTactic, ResidualOfBytesThatComesFirst) {
  for (DType residual : {kU8, kI8})
    for (bool float_result : {false, true}) {
      RegionCase region;
      Value* r = cast(region, region.input({2, 70, 9, 11}, Order::kChannelsLast, false, 1, residual),
                      DType::kFloat32);
      if (residual == kU8) r = region.add("Sub", {r, region.immediate(100)});
      r = region.add("Mul", {r, region.immediate(0.2f)});
      Value* v = region.add("ConvInteger", {region.input({2, 8, 9, 11}, Order::kChannelsLast, false, 1, kU8),
                                            region.constant({70, 8, 1, 1}, 1, kI8), byte(region, kU8)});
      v = region.add("Mul", {cast(region, v, DType::kFloat32), region.constant({70, 1, 1}, 1e-3f)});
      v = region.add("Add", {v, region.constant({70, 1, 1}, 5)});
      v = region.add("Relu", {region.add("Add", {v, r})});
      region.finish(float_result ? v : quantize(region, v, 0.3f, 0, kU8), Order::kChannelsLast);
      EXPECT_TRUE(region.check(float_result ? 1e-6 : kOneStep).contains("cpu.conv_integer.gather"))
          << region.refusal("cpu.conv_integer.gather");
    }
}

TEST(ConvIntegerTactic, ResidualOfFloats) {
  RegionCase region;
  Value* v = region.add("ConvInteger", {region.input({1, 8, 9, 11}, Order::kChannelsLast, false, 1, kI8),
                                        region.constant({20, 8, 3, 3}, 1, kI8), byte(region, kI8)});
  v = region.add("Mul", {cast(region, v, DType::kFloat32), region.immediate(1e-3f)});
  v = region.add("Add", {v, region.input({1, 20, 7, 9}, Order::kChannelsLast, false, 9)});
  region.finish(quantize(region, v, 0.2f, 30, kU8), Order::kChannelsLast);
  EXPECT_TRUE(region.check(kOneStep).contains("cpu.conv_integer.gather"))
      << region.refusal("cpu.conv_integer.gather");
}

TEST(QuantizeRowsTactic, PlainAndBehindOtherNodes) {
  for (DType to : {kU8, kI8})
    for (Order from : {Order::kRowMajor, Order::kChannelsLast})
      for (bool plain : {true, false}) {
        RegionCase region("pointwise");
        Value* v = region.input({2, 5, 9, 70}, from, false, 60);
        if (!plain) v = region.add("Gelu", {region.add("Add", {v, region.input({5, 1, 1})})});
        region.finish(quantize(region, v, 0.3f, to == kU8 ? 9 : 0, to), Order::kChannelsLast);
        EXPECT_TRUE(region.check(kOneStep).contains("cpu.quantize.rows"))
            << region.refusal("cpu.quantize.rows");
      }
}

TEST(MatMulIntegerTactic, BytesOut) {
  for (const Dims& size : {Dims{1, 5, 3}, Dims{50, 64, 130}}) {
    RegionCase region;
    Value* v = region.add("MatMulInteger", {region.input({size[0], size[1]}, Order::kRowMajor, false, 1, kU8),
                                            region.constant({size[1], size[2]}, 1, kI8), byte(region, kU8)});
    v = region.add("Mul", {cast(region, v, DType::kFloat32), region.immediate(1e-3f)});
    v = region.add("Gelu", {region.add("Add", {v, region.constant({size[2]}, 5)})});
    region.finish(quantize(region, v, 0.3f, 9, kU8));
    EXPECT_TRUE(region.check(kOneStep).contains("cpu.matmul_integer.packed"))
        << region.refusal("cpu.matmul_integer.packed");
  }
}

}  // namespace
}  // namespace wootz::test
