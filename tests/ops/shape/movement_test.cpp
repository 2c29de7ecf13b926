// SPDX-License-Identifier: Apache-2.0
// Cases worked out by hand from the specification.
#include <gmock/gmock.h>

#include <cmath>

#include "ops/sample_tensors.h"
#include "tests/ops/run_op.h"

namespace wootz {
namespace {

using sample::bools;
using sample::counting;
using sample::floats;
using sample::ints;
using testing::ElementsAre;
using testing::Pointwise;
using testing_ops::run_one;
using testing_ops::run_op;

Tensor numbers(std::vector<int64_t> v) { return Tensor::int64s(v); }
Tensor scalar(int64_t v) { return Tensor::scalar_int64(v); }
std::pair<std::string, Attribute> text(const char* name, const char* value) {
  return {name, std::string(value)};
}
std::pair<std::string, Attribute> number(const char* name, int64_t value) { return {name, value}; }

TEST(Reshape, ZeroCopiesTheSameIndex) {
  EXPECT_EQ(run_one("Reshape", {counting(DType::kFloat32, {6, 2, 2}), numbers({3, 0, 0, -1})}).dims(),
            (Dims{3, 2, 2, 2}));
  EXPECT_EQ(run_one("Reshape", {counting(DType::kFloat32, {4, 2, 3}), numbers({-1, 0, 0})}).dims(),
            (Dims{4, 2, 3}));
}

TEST(Reshape, EmptyTensors) {
  const Tensor none = Tensor::zeros(DType::kFloat32, {0, 3});
  EXPECT_EQ(run_one("Reshape", {none, numbers({0, -1})}).dims(), (Dims{0, 3}));
  EXPECT_EQ(run_one("Reshape", {none, numbers({0, 5})}, {number("allowzero", 1)}).dims(), (Dims{0, 5}));
  EXPECT_THROW(run_one("Reshape", {none, numbers({0, -1})}, {number("allowzero", 1)}), Error);
}

TEST(Pad, ReflectBeyondTheSizeRepeats) {
  const Tensor x = floats({3, 2}, {1, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f});
  EXPECT_THAT(run_one("Pad", {x, numbers({0, 2, 0, 0})}, {text("mode", "reflect")}).span<float>(),
              ElementsAre(1, 1.2f, 1, 1.2f, 2.3f, 3.4f, 2.3f, 3.4f, 4.5f, 5.7f, 4.5f, 5.7f));
}

TEST(Pad, NegativePadsCrop) {
  const Tensor y = run_one("Pad", {counting(DType::kInt64, {4, 4}), numbers({-1, -1, -1, 2})});
  EXPECT_EQ(y.dims(), (Dims{2, 5}));
  EXPECT_THAT(y.to_int64s(), ElementsAre(5, 6, 7, 0, 0, 9, 10, 11, 0, 0));
  EXPECT_THROW(run_one("Pad", {counting(DType::kInt64, {4}), numbers({-3, -2})}), Error);
}

TEST(Pad, WrapAndEdge) {
  const Tensor x = numbers({1, 2, 3});
  EXPECT_THAT(run_one("Pad", {x, numbers({4, 2})}, {text("mode", "wrap")}).to_int64s(),
              ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(run_one("Pad", {x, numbers({1, 2})}, {text("mode", "edge")}).to_int64s(),
              ElementsAre(1, 1, 2, 3, 3, 3));
  EXPECT_THROW(run_one("Pad", {Tensor::zeros(DType::kInt64, {0}), numbers({1, 0})}, {text("mode", "edge")}),
               Error);
}

TEST(Gather, NegativeAndOutOfRangeIndices) {
  const Tensor x = counting(DType::kInt64, {6});
  EXPECT_THAT(run_one("Gather", {x, numbers({-1, -3, -5})}).to_int64s(), ElementsAre(5, 3, 1));
  EXPECT_THROW(run_one("Gather", {x, numbers({6})}), Error);
  EXPECT_THROW(run_one("Gather", {x, numbers({-7})}), Error);
  EXPECT_THROW(run_one("GatherElements", {x, numbers({6})}), Error);
  EXPECT_THROW(run_one("GatherND", {x, ints({1, 1}, {6})}), Error);
  EXPECT_THROW(run_one("ScatterElements", {x, numbers({6}), numbers({0})}), Error);
  EXPECT_THROW(run_one("ScatterND", {x, ints({1, 1}, {-7}), numbers({0})}), Error);
}

TEST(ScatterND, DuplicatesReduce) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), at = ints({3, 2}, {0, 0, 1, 2, 0, 0}),
               u = floats({3}, {4, 3, -2});
  EXPECT_THAT(run_one("ScatterND", {x, at, u}, {text("reduction", "max")}).span<float>(),
              ElementsAre(4, 2, 3, 4, 5, 6));
  EXPECT_THAT(run_one("ScatterND", {x, at, u}, {text("reduction", "min")}).span<float>(),
              ElementsAre(-2, 2, 3, 4, 5, 3));
  EXPECT_THAT(run_one("ScatterND", {x, at, u}, {text("reduction", "mul")}).span<float>(),
              ElementsAre(-8, 2, 3, 4, 5, 18));
  EXPECT_THAT(run_one("ScatterND", {x, at, u}, {text("reduction", "add")}).span<float>(),
              ElementsAre(3, 2, 3, 4, 5, 9));
}

TEST(TopK, TiesTakeTheLowestIndex) {
  const Tensor x = floats({6}, {0, 7, 7, 0, 7, 7.5f});
  auto out = run_op("TopK", {x, numbers({4})}, {}, 2);
  EXPECT_THAT(out[1].tensor.to_int64s(), ElementsAre(5, 1, 2, 4));
  out = run_op("TopK", {x, numbers({3})}, {number("largest", 0)}, 2);
  EXPECT_THAT(out[1].tensor.to_int64s(), ElementsAre(0, 3, 1));
  EXPECT_THROW(run_op("TopK", {x, numbers({7})}, {}, 2), Error);
}

TEST(Slice, BackwardsToTheFrontAndClamped) {
  const Tensor x = counting(DType::kInt64, {5});
  EXPECT_THAT(run_one("Slice", {x, numbers({-1}), numbers({-100}), numbers({0}), numbers({-2})}).to_int64s(),
              ElementsAre(4, 2, 0));
  EXPECT_THAT(
      run_one("Slice", {x, numbers({3}), numbers({INT64_MAX}), numbers({0}), numbers({1})}).to_int64s(),
      ElementsAre(3, 4));
  EXPECT_EQ(run_one("Slice", {x, numbers({3}), numbers({1})}).size(), 0);
  EXPECT_THROW(run_one("Slice", {x, numbers({0}), numbers({1}), numbers({0}), numbers({0})}), Error);
}

TEST(Split, ShorterLastPart) {
  const auto parts = run_op("Split", {counting(DType::kInt64, {7})}, {number("num_outputs", 3)}, 3);
  EXPECT_THAT(parts[0].tensor.to_int64s(), ElementsAre(0, 1, 2));
  EXPECT_THAT(parts[2].tensor.to_int64s(), ElementsAre(6));
  EXPECT_THROW(run_op("Split", {counting(DType::kInt64, {7}), numbers({3, 3})}, {}, 2), Error);
}

TEST(CumSum, ExclusiveAndReverse) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_THAT(run_one("CumSum", {x, scalar(0)}, {number("reverse", 1)}).span<float>(), ElementsAre(6, 5, 3));
  EXPECT_THAT(run_one("CumSum", {x, scalar(0)}, {number("exclusive", 1)}).span<float>(),
              ElementsAre(0, 1, 3));
  EXPECT_THAT(run_one("CumSum", {x, scalar(0)}, {number("exclusive", 1), number("reverse", 1)}).span<float>(),
              ElementsAre(5, 3, 0));
}

TEST(Unique, OrderOfAppearance) {
  const auto out = run_op("Unique", {numbers({2, 1, 1, 3, 4, 3})}, {number("sorted", 0)}, 4);
  EXPECT_THAT(out[0].tensor.to_int64s(), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(out[1].tensor.to_int64s(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(out[2].tensor.to_int64s(), ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(out[3].tensor.to_int64s(), ElementsAre(1, 2, 2, 1));
}

TEST(Unique, SubtensorsAlongAnAxis) {
  const Tensor x = floats({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1});
  const auto out = run_op("Unique", {x}, {number("axis", 1)}, 4);
  EXPECT_THAT(out[0].tensor.span<float>(), ElementsAre(0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1));
  EXPECT_THAT(out[1].tensor.to_int64s(), ElementsAre(1, 0, 2));
  EXPECT_THAT(out[2].tensor.to_int64s(), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(out[3].tensor.to_int64s(), ElementsAre(2, 1, 1));
}

TEST(NonZero, AllZeroHasTheRanksRows) {
  EXPECT_EQ(run_one("NonZero", {Tensor::zeros(DType::kFloat32, {2, 2})}).dims(), (Dims{2, 0}));
  EXPECT_THAT(run_one("NonZero", {floats({2, 2}, {1, 0, 1, 1})}).to_int64s(), ElementsAre(0, 1, 1, 0, 0, 1));
}

TEST(Trilu, DiagonalFarOutside) {
  const Tensor x = counting(DType::kInt64, {2, 2});
  EXPECT_THAT(run_one("Trilu", {x, scalar(INT64_MAX)}).to_int64s(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(run_one("Trilu", {x, scalar(INT64_MIN)}).to_int64s(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(run_one("Trilu", {x, scalar(0)}, {number("upper", 0)}).to_int64s(), ElementsAre(0, 0, 2, 3));
}

TEST(DepthToSpace, BothOrders) {
  const Tensor x = counting(DType::kFloat32, {1, 8, 1, 1});
  EXPECT_THAT(run_one("DepthToSpace", {x}, {number("blocksize", 2)}).span<float>(),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(run_one("DepthToSpace", {x}, {number("blocksize", 2), text("mode", "CRD")}).span<float>(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Range, CountsWithoutOverflow) {
  EXPECT_THAT(run_one("Range", {scalar(10), scalar(4), scalar(-2)}).to_int64s(), ElementsAre(10, 8, 6));
  EXPECT_THAT(run_one("Range", {scalar(INT64_MIN), scalar(INT64_MAX), scalar(INT64_MAX)}).to_int64s(),
              ElementsAre(INT64_MIN, -1, INT64_MAX - 1));
  EXPECT_THROW(run_one("Range", {scalar(0), scalar(1), scalar(0)}), Error);
}

TEST(OneHot, OutsideIndicesAreCold) {
  EXPECT_THAT(run_one("OneHot", {numbers({1, -1, 3, -4}), scalar(3), numbers({0, 1})}).to_int64s(),
              ElementsAre(0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0));
}

TEST(Sizes, OverflowIsAnError) {
  EXPECT_THROW(run_one("ConstantOfShape", {numbers({INT64_MAX, INT64_MAX})}), Error);
  EXPECT_THROW(run_one("ConstantOfShape", {numbers({-1})}), Error);
  EXPECT_THROW(run_one("Expand", {Tensor::scalar_float(1), numbers({INT64_MAX, 4})}), Error);
  EXPECT_THROW(run_one("Tile", {numbers({1, 2}), numbers({INT64_MAX})}), Error);
  EXPECT_THROW(run_one("Reshape", {numbers({1, 2}), numbers({INT64_MAX, 4, -1})}), Error);
}

}  // namespace
}  // namespace wootz
