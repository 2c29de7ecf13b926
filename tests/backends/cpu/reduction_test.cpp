// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};
using P = AttributePair;

TEST(Reduce, EveryFoldAxisAndLayout) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"})
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{}, {0}, {1}, {-1}, {2, 3}, {0, 2}, {0, 1, 2, 3}})
      for (Storage s : kStorages)
        for (int64_t keepdims : {0, 1}) {
          SCOPED_TRACE(op);
          StridedCase()
              .input(random_tensor(DType::kFloat32, {3, 20, 5, 18}, 1, 1.2), s)
              .constant(Tensor::int64s(axes))
              .node(op, {"0", "1"}, {"y"}, attributes_of(P("keepdims", keepdims)))
              .result("y", s)
              .tolerance(3e-6, 2e-5)
              .expect("cpu.reduce.tiles");
        }
}

TEST(Reduce, PointwiseTail) {
  for (Storage s : kStorages)
    StridedCase()
        .input(random_tensor(DType::kFloat32, {3, 40, 9, 11}), s)
        .constant(Tensor::int64s(std::vector<int64_t>{2, 3}))
        .input(random_tensor(DType::kFloat32, {40, 1, 1}, 2))
        .node("ReduceMean", {"0", "1"}, {"m"})
        .node("Add", {"m", "2"}, {"sum"})
        .node("Sigmoid", {"sum"}, {"y"})
        .result("y", s)
        .expect("cpu.reduce.tiles");
}

TEST(Reduce, HalfAndExtremesAndEmpty) {
  StridedCase()
      .input(random_tensor(DType::kFloat16, {4, 300}))
      .constant(Tensor::int64s(std::vector<int64_t>{1}))
      .node("ReduceMean", {"0", "1"}, {"y"})
      .result("y")
      .tolerance(2e-3, 1e-3)
      .expect("cpu.reduce.tiles");
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"})
    for (int64_t axis : {0, 1})
      StridedCase()
          .input(extreme_tensor({40, 40}))
          .constant(Tensor::int64s(std::vector<int64_t>{axis}))
          .node(op, {"0", "1"}, {"y"})
          .result("y")
          .expect("cpu.reduce.tiles");
  StridedCase()
      .input(random_tensor(DType::kFloat32, {3, 0}))
      .constant(Tensor::int64s(std::vector<int64_t>{1}))
      .node("ReduceSum", {"0", "1"}, {"y"})
      .result("y")
      .expect("cpu.reduce.tiles");
}

TEST(Reduce, LongSumsKeepTheirAccuracy) {
  for (int64_t axis : {0, 1})
    StridedCase()
        .input(random_tensor(DType::kFloat32, axis ? Dims{2, 200000} : Dims{200000, 16}, 1, 1))
        .constant(Tensor::int64s(std::vector<int64_t>{axis}))
        .node("ReduceL2", {"0", "1"}, {"y"})
        .result("y")
        .tolerance(1e-6)
        .expect("cpu.reduce.tiles");
}

TEST(GlobalPool, BothLayouts) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"})
    for (Storage s : kStorages)
      StridedCase()
          .input(random_tensor(DType::kFloat32, {2, 70, 7, 7}), s)
          .node(op, {"0"}, {"y"})
          .result("y", s)
          .expect("cpu.reduce.tiles");
}

TEST(Softmax, EveryAxisAndLayout) {
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (int64_t axis : {0, 1, 2, -1})
      for (Storage from : kStorages)
        for (Storage to : {Storage::kRowMajor, Storage::kChannelsLast})
          StridedCase()
              .input(random_tensor(DType::kFloat32, {3, 21, 4, 19}, 1, 8), from)
              .node(op, {"0"}, {"y"}, attributes_of(P("axis", axis)))
              .result("y", to)
              .tolerance(3e-6, 3e-6)
              .expect("cpu.softmax.rows");
}

TEST(Softmax, TailHalfAndExtremes) {
  StridedCase()
      .input(random_tensor(DType::kFloat32, {5, 77}, 1, 8))
      .input(random_tensor(DType::kFloat32, {77}, 2))
      .node("Softmax", {"0"}, {"s"})
      .node("Mul", {"s", "1"}, {"y"})
      .result("y")
      .expect("cpu.softmax.rows");
  StridedCase()
      .input(random_tensor(DType::kFloat16, {5, 77}, 1, 8))
      .node("Softmax", {"0"}, {"y"})
      .result("y")
      .tolerance(2e-3, 1e-4)
      .expect("cpu.softmax.rows");
  for (int64_t axis : {0, 1})
    StridedCase()
        .input(extreme_tensor({50, 50}))
        .node("Softmax", {"0"}, {"y"}, attributes_of(P("axis", axis)))
        .result("y")
        .expect("cpu.softmax.rows");
  Tensor masked = random_tensor(DType::kFloat32, {3, 40});
  for (int i = 0; i < 40; ++i)
    masked.as<float>()[40 + i] = i < 39 ? -std::numeric_limits<float>::infinity() : 3.0f;
  StridedCase().input(masked).node("Softmax", {"0"}, {"y"}).result("y").expect("cpu.softmax.rows");
}

TEST(ArgExtreme, EveryAxis) {
  for (const char* op : {"ArgMax", "ArgMin"})
    for (int64_t axis : {0, 1, -1})
      for (Storage s : kStorages)
        for (int64_t keepdims : {0, 1})
          StridedCase()
              .input(random_tensor(DType::kFloat32, {4, 33, 50}), s)
              .node(op, {"0"}, {"y"}, attributes_of(P("axis", axis), P("keepdims", keepdims)))
              .result("y")
              .expect("cpu.arg_extreme.lines");
  StridedCase()
      .input(extreme_tensor({3, 60}))
      .node("ArgMax", {"0"}, {"y"}, attributes_of(P("axis", int64_t{1})))
      .result("y")
      .expect("cpu.arg_extreme.lines");
}

}  // namespace
}  // namespace wootz
