// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv.h"

#include <gtest/gtest.h>

#include "tests/ops/nn/run_node.h"

namespace wootz {
namespace {

using Values = std::vector<double>;

TEST(Window, SameSplitsTheOddPadByDirection) {
  // Input 5, kernel 2, stride 2: output ceil(5/2) = 3, total pad (3-1)*2 + 2 - 5 = 1.
  WindowAttributes a;
  a.strides = {2};
  a.auto_pad = "SAME_UPPER";
  const Dims kernel{2}, input{5};
  Window w = resolve_window(a, kernel, input);
  EXPECT_EQ(w.output, Dims{3});
  EXPECT_EQ(w.pads_begin, Dims{0});
  EXPECT_EQ(w.pads_end, Dims{1});
  a.auto_pad = "SAME_LOWER";
  w = resolve_window(a, kernel, input);
  EXPECT_EQ(w.pads_begin, Dims{1});
  EXPECT_EQ(w.pads_end, Dims{0});
}

TEST(Window, CeilModeDropsAWindowThatStartsInThePadding) {
  // ceil((2 - 1) / 2) + 1 = 2, but the second window would start at 2, outside.
  WindowAttributes a;
  a.strides = {2};
  a.ceil_mode = 1;
  EXPECT_EQ(resolve_window(a, Dims{1}, Dims{2}).output, Dims{1});
  EXPECT_EQ(resolve_window(a, Dims{3}, Dims{6}).output, Dims{3});
}

TEST(Window, SymbolicSamePaddingWithStride1KeepsTheSize) {
  SymbolTable symbols;
  const Dim h = symbols.input("h");
  WindowAttributes a;
  a.pads = {1, 1};
  EXPECT_EQ(window_output(symbols, a, std::vector<Dim>{3}, std::vector<Dim>{h})[0], h);
  a.strides = {2};
  Bindings b(symbols);
  const Dim half = window_output(symbols, a, std::vector<Dim>{3}, std::vector<Dim>{h})[0];
  b.bind(h.terms()[0].first, 7);
  EXPECT_EQ(b.evaluate(half), 4);
}

TEST(Window, SymbolicAndConcreteAgree) {
  for (int64_t ceil : {0, 1})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1})
        for (int64_t n = 4; n < 12; ++n) {
          WindowAttributes a;
          a.ceil_mode = ceil;
          a.strides = {stride};
          a.dilations = {2};
          a.pads = {pad, 1};
          SymbolTable symbols;
          const Dim d = symbols.input("n");
          Bindings b(symbols);
          b.bind(d.terms()[0].first, n);
          EXPECT_EQ(b.evaluate(window_output(symbols, a, std::vector<Dim>{2}, std::vector<Dim>{d})[0]),
                    resolve_window(a, Dims{2}, Dims{n}).output[0])
              << "n " << n << " stride " << stride << " pad " << pad << " ceil " << ceil;
        }
}

TEST(Window, SaysWhatIsWrong) {
  WindowAttributes a;
  a.strides = {1};
  EXPECT_THROW(resolve_window(a, Dims{3, 3}, Dims{8, 8}), Error);
  a.strides = {0, 1};
  EXPECT_THROW(resolve_window(a, Dims{3, 3}, Dims{8, 8}), Error);
  a.strides = {};
  EXPECT_THROW(resolve_window(a, Dims{9, 3}, Dims{4, 8}), Error);
  a.auto_pad = "SAME";
  EXPECT_THROW(resolve_window(a, Dims{3, 3}, Dims{8, 8}), Error);
}

TEST(Window, PadsBeyond64BitsAreAnError) {
  WindowAttributes a;
  a.pads = {INT64_MIN, 0};
  const Dim kernel[] = {Dim(2)}, input[] = {Dim(8)};
  EXPECT_THROW(transposed_window_output(a, {}, {}, kernel, input), Error);
}

TEST(Conv, StridedWithUnevenPads) {
  // x = 1 2 3 4 5, w = 1 10, pads 1 and 0, stride 2: windows (0 1) (2 3) (4 5).
  const auto run =
      run_node("Conv", {floats({1, 1, 5}, {1, 2, 3, 4, 5}), floats({1, 1, 2}, {1, 10}), floats({1}, {0.5})},
               sample_attributes({{"strides", ints_attribute({2})}, {"pads", ints_attribute({1, 0})}}));
  EXPECT_EQ(run->values(), (Values{10.5, 32.5, 54.5}));
}

TEST(Conv, GroupsAndDilation) {
  // Two groups of one channel, kernel taps two apart.
  const auto run =
      run_node("Conv", {floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), floats({2, 1, 2}, {1, 1, 1, -1})},
               sample_attributes({{"group", int_attribute(2)}, {"dilations", ints_attribute({2})}}));
  EXPECT_EQ(run->values(), (Values{4, 6, -2, -2}));
}

TEST(Conv, RejectsChannelsThatDoNotFit) {
  EXPECT_THROW(run_node("Conv", {sample_floats({1, 3, 4, 4}), sample_floats({2, 2, 3, 3})}), Error);
  EXPECT_THROW(run_node("Conv", {sample_floats({1, 3, 1, 1}), sample_floats({2, 3, 3, 3})}), Error);
}

TEST(ConvTranspose, OutputShapeSplitsThePadsTowardsTheBeginning) {
  // Full length 2*(3-1) + 3 = 7; asked for 6: one element is cut, at the beginning (total - total/2).
  const auto run =
      run_node("ConvTranspose", {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 3}, {1, 1, 1})},
               sample_attributes({{"strides", ints_attribute({2})}, {"output_shape", ints_attribute({6})}}));
  // Full result: 1 1 3 2 5 3 3.
  EXPECT_EQ(run->values(), (Values{1, 3, 2, 5, 3, 3}));
}

TEST(ConvTranspose, OutputPaddingAddsPositionsAtTheEnd) {
  const auto run = run_node(
      "ConvTranspose", {floats({1, 1, 2}, {1, 2}), floats({1, 1, 1}, {3}), floats({1}, {1})},
      sample_attributes({{"strides", ints_attribute({2})}, {"output_padding", ints_attribute({1})}}));
  EXPECT_EQ(run->values(), (Values{4, 1, 7, 1}));
}

TEST(AveragePool, CeilModeDividesByWhatTheWindowCovers) {
  // x = 1..4, kernel 3, stride 2, pad 1 at the begin: windows (0 1 2) and (2 3 4), with ceil a third (4 . .).
  const auto attributes = [](int64_t include) {
    return sample_attributes({{"kernel_shape", ints_attribute({3})},
                              {"strides", ints_attribute({2})},
                              {"pads", ints_attribute({1, 1})},
                              {"ceil_mode", int_attribute(1)},
                              {"count_include_pad", int_attribute(include)}});
  };
  // Padded input 0 1 2 3 4 0: windows (0 1 2), (2 3 4), (4 0 -): the last covers two padded elements.
  expect_near(run_node("AveragePool", {floats({1, 1, 4}, {1, 2, 3, 4})}, attributes(1))->values(), {1, 3, 2});
  expect_near(run_node("AveragePool", {floats({1, 1, 4}, {1, 2, 3, 4})}, attributes(0))->values(),
              {1.5, 3, 4});
}

TEST(MaxPool, IndicesCountOverTheWholeTensor) {
  const Tensor x = floats({1, 2, 2, 2}, {1, 4, 3, 2, 8, 5, 6, 7});
  const auto attributes = [](int64_t order) {
    return sample_attributes(
        {{"kernel_shape", ints_attribute({2, 2})}, {"storage_order", int_attribute(order)}});
  };
  const auto rows = run_node("MaxPool", {x}, attributes(0), 0, 2);
  EXPECT_EQ(rows->values(0), (Values{4, 8}));
  EXPECT_EQ(rows->values(1), (Values{1, 4}));
  // Column-major inside the plane: row 0, column 1 is element 2.
  EXPECT_EQ(run_node("MaxPool", {x}, attributes(1), 0, 2)->values(1), (Values{2, 4}));
}

}  // namespace
}  // namespace wootz
