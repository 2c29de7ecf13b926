// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/ops/nn/run_node.h"

namespace wootz {
namespace {

using Values = std::vector<double>;

TEST(QuantizeLinear, TiesGoToEvenBeforeTheZeroPoint) {
  const auto run = run_node("QuantizeLinear", {floats({5}, {0.5, 1.5, 2.5, -0.5, -300}), floats({}, {1}),
                                               sample_tensor(DType::kUint8, {}, {101})});
  EXPECT_EQ(run->values(), (Values{101, 103, 103, 101, 0}));
}

TEST(QuantizeLinear, TheDivisionIsOneOfFloat32) {
  // 0.1f / 0.2f is exactly 0.5 in float32, but a little off in float64 with exact quotients of other
  // decimals.
  const auto run = run_node(
      "QuantizeLinear", {floats({2}, {0.3, 4.5}), floats({}, {0.2}), sample_tensor(DType::kInt8, {}, {0})});
  EXPECT_EQ(run->values(), (Values{2, 22}));
}

TEST(QuantizeLinear, BlocksShareAScale) {
  const Attributes a = sample_attributes({{"axis", int_attribute(1)}, {"block_size", int_attribute(2)}});
  const auto run = run_node("QuantizeLinear",
                            {floats({1, 5}, {2, 4, 2, 4, 9}), floats({1, 3}, {1, 2, 3}),
                             sample_tensor(DType::kInt4, {1, 3}, {0, 1, 0})},
                            a);
  EXPECT_EQ(run->values(), (Values{2, 4, 2, 3, 3}));
  EXPECT_THROW(run_node("QuantizeLinear", {floats({1, 5}, {2, 4, 2, 4, 9}), floats({1, 2}, {1, 2})}, a),
               Error);
}

TEST(QuantizeLinear, NarrowIntegersSaturate) {
  EXPECT_EQ(run_node("QuantizeLinear",
                     {floats({3}, {-9, 0.6, 9}), floats({}, {1}), sample_tensor(DType::kInt4, {}, {0})})
                ->values(),
            (Values{-8, 1, 7}));
  EXPECT_EQ(run_node("QuantizeLinear",
                     {floats({3}, {-9, 0.6, 9}), floats({}, {1}), sample_tensor(DType::kUint2, {}, {1})})
                ->values(),
            (Values{0, 2, 3}));
}

TEST(QuantizeLinear, NarrowFloatsSaturateWhateverTheAttributeSays) {
  for (const int64_t saturate : {0, 1}) {
    const Attributes a = sample_attributes({{"saturate", int_attribute(saturate)}});
    const auto of = [&](DType narrow) {
      return run_node("QuantizeLinear",
                      {floats({6}, {-99, -0.55, 0.3, 1.0625, 14.1, INFINITY}), floats({}, {0.5}),
                       sample_tensor(narrow, {}, {0})},
                      a)
          ->values();
    };
    EXPECT_EQ(of(DType::kFloat6E2M3), (Values{-7.5, -1.125, 0.625, 2, 7.5, 7.5}));
    EXPECT_EQ(of(DType::kFloat6E3M2), (Values{-28, -1, 0.625, 2, 28, 28}));
    EXPECT_EQ(of(DType::kFloat4E2M1), (Values{-6, -1, 0.5, 2, 6, 6}));
  }
}

TEST(DequantizeLinear, OneScaleForEachIndexOfTheAxis) {
  const auto run = run_node("DequantizeLinear",
                            {sample_tensor(DType::kInt8, {2, 2}, {1, 2, 3, 4}), floats({2}, {1, 10}),
                             sample_tensor(DType::kInt8, {2}, {1, -1})},
                            sample_attributes({{"axis", int_attribute(0)}}));
  EXPECT_EQ(run->values(), (Values{0, 1, 40, 50}));
}

TEST(DynamicQuantizeLinear, TheRangeTakesInZero) {
  const auto run = run_node("DynamicQuantizeLinear", {floats({3}, {51, 102, 255})}, {}, 0, 3);
  EXPECT_EQ(run->values(0), (Values{51, 102, 255}));
  EXPECT_EQ(run->values(1), (Values{1}));
  EXPECT_EQ(run->values(2), (Values{0}));
}

TEST(MatMulInteger, ZeroPointsOfRowsAndColumns) {
  const auto run = run_node(
      "MatMulInteger",
      {sample_tensor(DType::kUint8, {2, 2}, {1, 2, 3, 4}), sample_tensor(DType::kInt8, {2, 2}, {1, 0, 0, 1}),
       sample_tensor(DType::kUint8, {2}, {1, 3}), sample_tensor(DType::kInt8, {2}, {0, 1})});
  // Rows (0 1) and (0 1); columns (1 0) and (-1 0).
  EXPECT_EQ(run->values(), (Values{0, 0, 0, 0}));
  EXPECT_EQ(run->output().dtype(), DType::kInt32);
}

TEST(ConvInteger, PaddingHoldsTheZeroPoint) {
  const auto run =
      run_node("ConvInteger",
               {sample_tensor(DType::kUint8, {1, 1, 2}, {5, 6}),
                sample_tensor(DType::kUint8, {1, 1, 3}, {1, 1, 1}), sample_tensor(DType::kUint8, {}, {5})},
               sample_attributes({{"pads", ints_attribute({1, 1})}}));
  EXPECT_EQ(run->values(), (Values{1, 1}));
}

TEST(QLinearMatMul, RequantizesWithTheScaleOfEachColumn) {
  const Tensor zero = sample_tensor(DType::kUint8, {}, {0});
  const auto run = run_node("QLinearMatMul", {sample_tensor(DType::kUint8, {1, 2}, {2, 3}), floats({}, {0.5}),
                                              zero, sample_tensor(DType::kUint8, {2, 2}, {1, 2, 3, 4}),
                                              floats({2}, {1, 2}), sample_tensor(DType::kUint8, {2}, {0, 0}),
                                              floats({}, {0.5}), sample_tensor(DType::kUint8, {}, {1})});
  // 11 * 0.5 * 1 / 0.5 + 1 and 16 * 0.5 * 2 / 0.5 + 1.
  EXPECT_EQ(run->values(), (Values{12, 33}));
}

TEST(Einsum, BroadcastsAnEllipsisOfOne) {
  const auto run = run_node("Einsum", {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 1}, {10, 100})},
                            sample_attributes({{"equation", string_attribute("...ij,...jk->...ik")}}));
  EXPECT_EQ(run->values(), (Values{210, 430}));
}

TEST(Einsum, ImplicitOutputIsAlphabetical) {
  const auto run = run_node("Einsum", {floats({1, 2}, {1, 2}), floats({1, 3}, {1, 10, 100})},
                            sample_attributes({{"equation", string_attribute("zb,za")}}));
  EXPECT_EQ(run->output().dims(), (Dims{3, 2}));
  EXPECT_EQ(run->values(), (Values{1, 2, 10, 20, 100, 200}));
}

TEST(Einsum, SaysWhatIsWrong) {
  const auto run = [](const char* equation) {
    run_node("Einsum", {floats({1, 2}, {1, 2})},
             sample_attributes({{"equation", string_attribute(equation)}}));
  };
  EXPECT_THROW(run("i->i"), Error);
  EXPECT_THROW(run("ii->i"), Error);
  EXPECT_THROW(run("ij->k"), Error);
  EXPECT_THROW(run("ij,jk->ik"), Error);
}

TEST(MatMul, VectorsLoseTheirDimension) {
  EXPECT_EQ(run_node("MatMul", {floats({2}, {1, 2}), floats({2, 2}, {1, 2, 3, 4})})->values(),
            (Values{7, 10}));
  EXPECT_EQ(run_node("MatMul", {floats({2}, {1, 2}), floats({2}, {3, 4})})->output().dims(), Dims{});
  EXPECT_THROW(run_node("MatMul", {floats({}, {1}), floats({1, 1}, {3})}), Error);
  EXPECT_THROW(run_node("MatMul", {floats({1, 2}, {1, 2}), floats({1, 1}, {3})}), Error);
}

TEST(MatMul, Int64IsExact) {
  const int64_t big = (int64_t{1} << 53) + 1;
  const Tensor a = Tensor::int64s(Ints{big, 1}).reshaped({1, 2}),
               b = Tensor::int64s(Ints{1, 1}).reshaped({2, 1});
  EXPECT_EQ(run_node("MatMul", {a, b})->output().as<int64_t>()[0], big + 1);
}

}  // namespace
}  // namespace wootz
