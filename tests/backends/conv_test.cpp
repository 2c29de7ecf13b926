// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

struct Shape2d {
  int64_t n, c, h, w, m;
  int64_t kh = 3, kw = 3, stride = 1, dilation = 1, group = 1;
  Ints pads = {1, 1, 1, 1};
};

Attributes conv_attributes(const Shape2d& s) {
  Attributes a;
  a.set("strides", Ints{s.stride, s.stride});
  a.set("dilations", Ints{s.dilation, s.dilation});
  a.set("pads", s.pads);
  a.set("group", s.group);
  return a;
}

Value* add_conv(RegionCase& region, const Shape2d& s, Order x_order = Order::kChannelsLast,
                bool bias = true) {
  std::vector<Value*> in = {region.input({s.n, s.c, s.h, s.w}, x_order),
                            region.constant({s.m, s.c / s.group, s.kh, s.kw})};
  if (bias) in.push_back(region.constant({s.m}));
  return region.add("Conv", in, conv_attributes(s));
}

const Shape2d kShapes[] = {
    {1, 16, 8, 8, 32},
    {2, 5, 9, 7, 3},
    {1, 64, 14, 13, 65},
    {1, 17, 6, 5, 130, 3, 3, 2},
    {1, 8, 12, 12, 24, 3, 3, 1, 2, 1, {2, 2, 2, 2}},
    {1, 12, 11, 10, 20, 5, 3, 1, 1, 1, {2, 0, 1, 3}},
    {1, 32, 7, 7, 48, 1, 1, 1, 1, 1, {0, 0, 0, 0}},
    {3, 24, 5, 5, 100, 1, 1, 2, 1, 1, {0, 0, 0, 0}},
    {1, 12, 9, 9, 18, 3, 3, 1, 1, 3},
    {1, 16, 9, 9, 16, 3, 3, 1, 1, 16},
    {2, 19, 10, 11, 19, 3, 3, 2, 1, 19},
    {1, 40, 12, 9, 40, 5, 5, 1, 1, 40, {2, 2, 2, 2}},
    {1, 6, 9, 9, 12, 3, 3, 1, 1, 6},
    {1, 3, 33, 31, 16, 7, 7, 2, 1, 1, {3, 3, 3, 3}},
    {1, 1, 20, 20, 4, 3, 3, 1, 1, 1, {0, 0, 0, 0}},
    {1, 4, 1, 1, 9, 3, 3},
    {1, 700, 5, 5, 20, 3, 3},
    // Whole taps outside of the image.
    {1, 20, 1, 1, 70, 3, 3},
    {1, 16, 13, 11, 80, 3, 3, 1, 6, 1, {6, 6, 6, 6}},
    {1, 16, 5, 5, 70, 3, 3, 1, 6, 1, {6, 6, 6, 6}},
    {1, 36, 9, 7, 36, 7, 7, 1, 1, 36, {3, 3, 3, 3}},
    {2, 20, 3, 17, 20, 7, 7, 1, 1, 20, {3, 3, 3, 3}},
    {1, 20, 4, 15, 20, 5, 5, 2, 1, 20, {2, 2, 2, 2}},
};

TEST(ConvTactics, EveryShape) {
  for (const Shape2d& s : kShapes) {
    SCOPED_TRACE(testing::Message() << s.n << "x" << s.c << "x" << s.h << "x" << s.w << " -> " << s.m
                                    << " kernel " << s.kh << "x" << s.kw << " stride " << s.stride
                                    << " group " << s.group);
    RegionCase region;
    region.finish(add_conv(region, s), Order::kChannelsLast);
    const auto served = region.check(5e-6);
    EXPECT_TRUE(served.contains("cpu.conv.implicit_gemm"));
  }
}

/// Two parts of 9 and 10 rows, for which one implementation of oneDNN wants its weights in different layouts.
TEST(ConvTactics, PartsThatWantDifferentLayoutsOfTheWeights) {
  RegionCase region;
  region.finish(add_conv(region, {1, 1024, 19, 19, 1024, 1, 1, 1, 1, 1, {0, 0, 0, 0}}), Order::kChannelsLast);
  region.check(2e-5);
}

TEST(ConvTactics, Tails) {
  const Shape2d s{2, 16, 10, 9, 36};
  for (const char* kind :
       {"relu", "clip", "residual", "residual_relu", "silu", "scale_by_pixel", "scale_by_image", "scalar"}) {
    SCOPED_TRACE(kind);
    RegionCase region;
    Value* y = add_conv(region, s);
    const std::string k = kind;
    if (k == "relu") y = region.add("Relu", {y});
    if (k == "clip") y = region.add("Clip", {y, region.immediate(-1), region.immediate(2)});
    if (k.starts_with("residual"))
      y = region.add("Add", {y, region.input({s.n, s.m, s.h, s.w}, Order::kChannelsLast)});
    if (k == "residual_relu") y = region.add("Relu", {y});
    if (k == "silu") y = region.add("Mul", {y, region.add("Sigmoid", {y})});
    if (k == "scale_by_pixel")
      y = region.add("Mul", {y, region.input({s.n, 1, s.h, s.w}, Order::kChannelsLast)});
    if (k == "scale_by_image") y = region.add("Mul", {region.input({s.n, s.m, 1, 1}), y});
    if (k == "scalar")
      y = region.add("Add", {region.add("Mul", {y, region.immediate(0.5f)}), region.constant({})});
    region.finish(y, Order::kChannelsLast);
    const auto served = region.check(5e-6);
    EXPECT_TRUE(served.contains("cpu.conv.implicit_gemm")) << region.refusal("cpu.conv.implicit_gemm");
  }
}

TEST(ConvTactics, PoolsBehindWinograd) {
  struct Case {
    Shape2d s;
    int64_t ceil_mode;
    bool clamps;
  };
  for (const Case& k : {Case{{2, 16, 8, 8, 32}, 0, true}, Case{{1, 16, 9, 7, 20}, 1, true},
                        Case{{1, 16, 9, 7, 20}, 0, false}, Case{{3, 8, 5, 11, 70}, 1, false},
                        Case{{1, 40, 3, 2, 65}, 1, true}, Case{{1, 40, 3, 2, 65}, 0, true}}) {
    SCOPED_TRACE(testing::Message() << k.s.h << "x" << k.s.w << " -> " << k.s.m << " ceil " << k.ceil_mode);
    RegionCase region;
    Value* y = add_conv(region, k.s);
    if (k.clamps) y = region.add("Relu", {y});
    Attributes pool;
    pool.set("kernel_shape", Ints{2, 2});
    pool.set("strides", Ints{2, 2});
    pool.set("ceil_mode", k.ceil_mode);
    region.finish(region.add("MaxPool", {y}, pool), Order::kChannelsLast);
    EXPECT_TRUE(region.check(5e-6).contains("cpu.conv.winograd")) << region.refusal("cpu.conv.winograd");
  }
}

TEST(ConvTactics, WithoutBiasAndWithATailThatAddsOne) {
  RegionCase region;
  const Shape2d s{1, 16, 8, 8, 20};
  Value* y = add_conv(region, s, Order::kChannelsLast, false);
  region.finish(region.add("Relu", {region.add("Add", {y, region.constant({1, s.m, 1, 1})})}),
                Order::kChannelsLast);
  region.check(5e-6);
}

TEST(ConvTactics, RowMajorStem) {
  RegionCase region;
  region.finish(add_conv(region, {1, 3, 32, 30, 32, 3, 3, 2, 1, 1, {0, 0, 1, 1}}, Order::kRowMajor),
                Order::kChannelsLast);
  EXPECT_TRUE(region.check(5e-6).contains("cpu.conv.implicit_gemm"));
}

TEST(ConvTactics, OneDimension) {
  for (int64_t channels : {1, 16, 40}) {
    RegionCase region;
    Attributes a;
    a.set("strides", Ints{2});
    a.set("pads", Ints{3, 2});
    Value* y = region.add(
        "Conv", {region.input({2, channels, 301}, Order::kChannelsLast), region.constant({24, channels, 5})},
        a);
    region.finish(region.add("Tanh", {y}), Order::kChannelsLast);
    EXPECT_TRUE(region.check(5e-6).contains("cpu.conv.implicit_gemm"));
  }
}

TEST(ConvTactics, AutoPad) {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    RegionCase region;
    Attributes a;
    a.set("auto_pad", std::string(pad));
    a.set("strides", Ints{2, 2});
    region.finish(
        region.add("Conv",
                   {region.input({1, 16, 9, 8}, Order::kChannelsLast), region.constant({8, 16, 4, 3})}, a),
        Order::kChannelsLast);
    EXPECT_TRUE(region.check(5e-6).contains("cpu.conv.implicit_gemm"));
  }
}

TEST(ConvTactics, GatedInput) {
  // Images times channels: short rows that repeat, rows of many floats, blocks that end inside an image.
  for (const Shape2d& s :
       {Shape2d{2, 16, 9, 7, 24}, {1, 40, 12, 9, 70}, {1, 300, 30, 30, 20}, {2, 9, 5, 5, 130}})
    for (const bool per_image : {true, false}) {
      SCOPED_TRACE(testing::Message() << s.n << "x" << s.c << "x" << s.h << "x" << s.w << " -> " << s.m);
      RegionCase region;
      Value* x = region.input({s.n, s.c, s.h, s.w}, Order::kChannelsLast);
      Value* gate = region.input({per_image ? s.n : 1, s.c, 1, 1});
      Value* y = region.add("Conv", {region.add("Mul", {per_image ? gate : x, per_image ? x : gate}),
                                     region.constant({s.m, s.c, 1, 1}, 0.1f), region.constant({s.m})});
      y = region.add("Add", {y, region.input({s.n, s.m, s.h, s.w}, Order::kChannelsLast)});
      region.finish(region.add("Tanh", {y}), Order::kChannelsLast);
      EXPECT_TRUE(region.check(5e-6).contains("cpu.conv.gated1x1")) << region.refusal("cpu.conv.gated1x1");
    }
}

TEST(ConvTactics, RefusalsNameTheReason) {
  RegionCase region;
  region.finish(add_conv(region, {1, 32, 8, 8, 16}), Order::kRowMajor);
  region.check();
  EXPECT_NE(region.refusal("cpu.conv.implicit_gemm").find("channels-last"), std::string::npos);
}

}  // namespace
}  // namespace wootz::test
