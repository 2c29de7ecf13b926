// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

struct Transposed {
  int64_t n, c, h, w, m, k, stride;
  Ints pads = {0, 0, 0, 0};
  int64_t group = 1, dilation = 1, output_padding = 0;
};

TEST(ConvTransposeTactics, EveryShape) {
  for (const Transposed& s :
       {Transposed{1, 16, 7, 6, 24, 2, 2}, Transposed{2, 5, 4, 9, 3, 3, 2, {1, 1, 1, 1}, 1, 1, 1},
        Transposed{1, 12, 5, 5, 20, 4, 2, {1, 1, 1, 1}}, Transposed{1, 8, 6, 6, 9, 3, 1, {1, 0, 1, 2}},
        Transposed{1, 12, 5, 4, 6, 3, 2, {0, 0, 0, 0}, 3},
        Transposed{1, 4, 5, 5, 70, 3, 3, {2, 2, 2, 2}, 1, 2}, Transposed{1, 6, 3, 3, 4, 1, 2},
        Transposed{1, 10, 1, 700, 8, 3, 2, {1, 1, 1, 1}}}) {
    SCOPED_TRACE(testing::Message() << "kernel " << s.k << " stride " << s.stride << " group " << s.group);
    RegionCase region;
    Attributes a;
    a.set("strides", Ints{s.stride, s.stride});
    a.set("dilations", Ints{s.dilation, s.dilation});
    a.set("output_padding", Ints{s.output_padding, s.output_padding});
    a.set("pads", s.pads);
    a.set("group", s.group);
    Value* y = region.add("ConvTranspose",
                          {region.input({s.n, s.c, s.h, s.w}, Order::kChannelsLast),
                           region.constant({s.c, s.m / s.group, s.k, s.k}), region.constant({s.m})},
                          a);
    region.finish(region.add("Relu", {y}), Order::kChannelsLast);
    EXPECT_TRUE(region.check(5e-6).contains("cpu.conv_transpose.phases"))
        << region.refusal("cpu.conv_transpose.phases");
  }
}

TEST(ConvTransposeTactics, TailsAndOneDimension) {
  RegionCase region;
  Attributes a;
  a.set("strides", Ints{4});
  a.set("pads", Ints{2, 2});
  Value* y = region.add("ConvTranspose",
                        {region.input({2, 20, 50}, Order::kChannelsLast), region.constant({20, 18, 8})}, a);
  const Dims dims = {2, 18, 200};
  y = region.add("Add", {y, region.input(dims, Order::kChannelsLast)});
  region.finish(region.add("Sigmoid", {y}), Order::kChannelsLast);
  EXPECT_TRUE(region.check(5e-6).contains("cpu.conv_transpose.phases"))
      << region.refusal("cpu.conv_transpose.phases");
  RegionCase added;
  y = added.add("ConvTranspose",
                {added.input({2, 20, 50}, Order::kChannelsLast), added.constant({20, 18, 8})}, a);
  added.finish(added.add("Add", {y, added.input(dims, Order::kChannelsLast)}), Order::kChannelsLast);
  EXPECT_TRUE(added.check(5e-6).contains("cpu.conv_transpose.phases"));
}

}  // namespace
}  // namespace wootz::test
