// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};
using P = AttributePair;

Tensor ints(std::vector<int64_t> v) { return Tensor::int64s(v); }

TEST(Movement, TransposesOfEverySizeAndOrder) {
  for (DType dtype : {DType::kFloat32, DType::kUint8, DType::kFloat16, DType::kInt64})
    for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2}, Ints{3, 2, 1, 0}, Ints{1, 0, 2, 3},
                             Ints{0, 1, 3, 2}, Ints{2, 0, 1, 3}})
      for (Storage from : {Storage::kRowMajor, Storage::kPadded})
        StridedCase()
            .input(random_tensor(dtype, {2, 37, 9, 41}, 1, 100), from)
            .node("Transpose", {"0"}, {"y"}, attributes_of(P("perm", perm)))
            .result("y", Storage::kRowMajor)
            .expect("cpu.movement.copy");
}

TEST(Movement, LayoutConversions) {
  for (const Dims& dims : {Dims{2, 3, 50, 60}, Dims{1, 64, 28, 28}, Dims{3, 5, 7}, Dims{1, 70, 3, 4, 5}})
    for (Storage from : kStorages)
      for (Storage to : kStorages)
        StridedCase()
            .input(random_tensor(DType::kFloat32, dims), from)
            .node("Relayout", {"0"}, {"y"}, attributes_of(P("layout", std::string("channels_last"))), "wootz")
            .result("y", to)
            .expect("cpu.movement.copy");
}

TEST(Movement, LargeTransposeOnTwoThreads) {
  StridedCase()
      .input(random_tensor(DType::kFloat32, {3, 333, 517}))
      .node("Transpose", {"0"}, {"y"}, attributes_of(P("perm", Ints{0, 2, 1})))
      .result("y")
      .expect("cpu.movement.copy");
}

TEST(Movement, ConcatAndSplit) {
  for (Storage s : kStorages) {
    StridedCase()
        .input(random_tensor(DType::kFloat32, {2, 3, 4, 5}), s)
        .input(random_tensor(DType::kFloat32, {2, 1, 4, 5}, 2), Storage::kRowMajor)
        .input(random_tensor(DType::kFloat32, {2, 8, 4, 5}, 3), Storage::kChannelsLast)
        .node("Concat", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", int64_t{-3})))
        .result("y", s)
        .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kFloat32, {2, 9, 4, 5}), s)
        .constant(ints({2, 3, 4}))
        .node("Split", {"0", "1"}, {"a", "b", "c"}, attributes_of(P("axis", int64_t{1})))
        .result("c", s)
        .result("a")
        .expect("cpu.movement.copy");
  }
  StridedCase()
      .input(random_tensor(DType::kInt32, {7, 4}, 1, 50))
      .node("Split", {"0"}, {"a", "b", "c"}, attributes_of(P("num_outputs", int64_t{3})))
      .result("a")
      .result("b")
      .result("c")
      .expect("cpu.movement.copy");
}

TEST(Movement, SlicePadExpandTile) {
  for (Storage s : kStorages) {
    StridedCase()
        .input(random_tensor(DType::kFloat32, {3, 8, 9, 10}), s)
        .constant(ints({-1, 7, 1}))
        .constant(ints({-100, 0, 100}))
        .constant(ints({1, 2, 3}))
        .constant(ints({-2, -3, 2}))
        .node("Slice", {"0", "1", "2", "3", "4"}, {"y"})
        .result("y", s)
        .expect("cpu.movement.copy");
    for (const char* mode : {"constant", "edge", "reflect", "wrap"})
      StridedCase()
          .input(random_tensor(DType::kFloat32, {2, 3, 6, 5}), s)
          .constant(ints({0, 1, 2, 3, 1, 0, 3, 2}))
          .constant(Tensor::scalar_float(7))
          .node("Pad", {"0", "1", "2"}, {"y"}, attributes_of(P("mode", std::string(mode))))
          .result("y", s)
          .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kFloat32, {3, 1, 5}), s)
        .constant(ints({2, 3, 4, 5}))
        .node("Expand", {"0", "1"}, {"y"})
        .result("y", s)
        .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kUint8, {3, 2, 5}, 1, 200), s)
        .constant(ints({2, 1, 3}))
        .node("Tile", {"0", "1"}, {"y"})
        .result("y", s)
        .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kFloat32, {2, 12, 3, 5}), s)
        .node("DepthToSpace", {"0"}, {"y"},
              attributes_of(P("blocksize", int64_t{2}), P("mode", std::string("CRD"))))
        .result("y", s)
        .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kFloat32, {2, 3, 6, 10}), s)
        .node("SpaceToDepth", {"0"}, {"y"}, attributes_of(P("blocksize", int64_t{2})))
        .result("y", s)
        .expect("cpu.movement.copy");
    StridedCase()
        .input(random_tensor(DType::kFloat32, {2, 3, 6, 10}), s)
        .constant(ints({6, 60}))
        .node("Reshape", {"0", "1"}, {"y"})
        .result("y")
        .expect("cpu.movement.copy");
  }
}

TEST(Movement, EmptyOnes) {
  StridedCase()
      .input(random_tensor(DType::kFloat32, {2, 0, 4}))
      .node("Transpose", {"0"}, {"y"}, attributes_of(P("perm", Ints{2, 1, 0})))
      .result("y")
      .expect("cpu.movement.copy");
}

TEST(Gather, RowsOfAnEmbedding) {
  for (int64_t axis : {0, 1, -1})
    for (bool wide : {true, false})
      StridedCase()
          .constant(random_tensor(DType::kFloat32, {30, 8, 6}))
          .input(wide ? ints({1, -2, 3, 0, 5}) : random_tensor(DType::kInt32, {2, 7}, 1, 5))
          .node("Gather", {"0", "1"}, {"y"}, attributes_of(P("axis", axis)))
          .result("y")
          .expect("cpu.gather.rows");
}

TEST(Gather, LeavesAnErrorForIndicesOutOfRange) {
  StridedCase c;
  c.constant(random_tensor(DType::kFloat32, {3, 2}))
      .input(ints({2}))
      .node("Gather", {"0", "1"}, {"y"})
      .result("y");
  c.replace_input(1, ints({3}));
  EXPECT_THROW(c.expect("cpu.gather.rows"), Error);
}

TEST(Gather, ReadsIndicesOf32And64BitsAlone) {
  StridedCase c;
  c.constant(random_tensor(DType::kFloat32, {3, 2}))
      .input(Tensor::zeros(DType::kBool, {1}))
      .node("Gather", {"0", "1"}, {"y"})
      .result("y");
  EXPECT_EQ(c.refusal("cpu.gather.rows"), "indices of type bool");
}

}  // namespace
}  // namespace wootz
