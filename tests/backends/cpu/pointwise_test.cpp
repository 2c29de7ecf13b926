// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};

TEST(PointwiseTiles, BroadcastsInEveryLayout) {
  const std::vector<Dims> others = {{2, 5, 4, 6}, {5, 1, 1}, {1}, {}, {2, 1, 4, 1}, {6}, {1, 5, 4, 6}};
  for (const Dims& other : others)
    for (Storage a : kStorages)
      for (Storage b : kStorages)
        for (Storage out : kStorages)
          StridedCase()
              .input(random_tensor(DType::kFloat32, {2, 5, 4, 6}), a)
              .input(random_tensor(DType::kFloat32, other, 2), b)
              .node("Add", {"0", "1"}, {"sum"})
              .node("Mul", {"sum", "0"}, {"y"})
              .result("y", out)
              .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, LargeEnoughForTwoThreadsAndManyTiles) {
  for (Storage a : {Storage::kRowMajor, Storage::kChannelsLast})
    StridedCase()
        .input(random_tensor(DType::kFloat32, {3, 70, 33, 41}), a)
        .constant(random_tensor(DType::kFloat32, {70, 1, 1}, 2))
        .node("Mul", {"0", "1"}, {"scaled"})
        .node("Sigmoid", {"scaled"}, {"s"})
        .node("Mul", {"scaled", "s"}, {"y"})
        .node("Relu", {"scaled"}, {"z"})
        .result("y", Storage::kRowMajor)
        .result("z", Storage::kChannelsLast)
        .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, ExtremeValues) {
  for (const char* op :
       {"Exp",      "Log",         "Tanh",      "Sigmoid", "Erf",  "Sqrt",       "Relu",
        "Softplus", "HardSigmoid", "HardSwish", "Neg",     "Abs",  "Reciprocal", "Floor",
        "Ceil",     "Round",       "Sign",      "Elu",     "Selu", "LeakyRelu",  "Softsign",
        "Mish",     "Sin",         "Cos",       "Atan",    "Sinh", "Celu",       "ThresholdedRelu",
        "Shrink"}) {
    SCOPED_TRACE(op);
    if (!OpRegistry::global().find("", op)) continue;
    StridedCase()
        .input(extreme_tensor({5, 77}))
        .node(op, {"0"}, {"y"})
        .result("y")
        .tolerance(1e-6, 1e-42)
        .expect("cpu.pointwise.tiles");
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu"}) {
    SCOPED_TRACE(op);
    if (!OpRegistry::global().find("", op)) continue;
    StridedCase()
        .input(extreme_tensor({5, 77}))
        .input(extreme_tensor({77, 1}, 4).reshaped({1, 77}))
        .node(op, {"0", "1"}, {"y"})
        .result("y")
        .tolerance(1e-6, 1e-44)
        .expect("cpu.pointwise.tiles");
  }
}

TEST(PointwiseTiles, EveryDtype) {
  for (DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kInt64, DType::kInt32, DType::kInt8,
        DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64, DType::kInt16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const double tolerance = dtype == DType::kFloat16 ? 2e-3 : dtype == DType::kBFloat16 ? 2e-2 : 1e-6;
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Max"})
      StridedCase()
          .input(random_tensor(dtype, {3, 5, 70}, 1, 90), Storage::kChannelsLast)
          .input(random_tensor(dtype, {5, 1}, 2, 90))
          .node(op, {"0", "1"}, {"y"})
          .result("y")
          .tolerance(tolerance, tolerance)
          .expect("cpu.pointwise.tiles");
  }
}

TEST(PointwiseTiles, MasksAndCasts) {
  StridedCase()
      .input(random_tensor(DType::kInt64, {4, 1, 33}, 1, 3))
      .input(random_tensor(DType::kInt64, {33, 1}, 2, 3))
      .input(random_tensor(DType::kFloat32, {4, 33, 33}, 3))
      .constant(Tensor::scalar_float(-1e4f))
      .node("Less", {"0", "1"}, {"less"})
      .node("Not", {"less"}, {"not"})
      .node("Where", {"not", "2", "3"}, {"y"})
      .node("Cast", {"less"}, {"f"}, attributes_of(AttributePair("to", int64_t{1})))
      .result("y")
      .result("less")
      .result("f")
      .expect("cpu.pointwise.tiles");
  const std::vector<DType> kinds = {DType::kFloat32, DType::kFloat16, DType::kInt64,   DType::kInt32,
                                    DType::kUint8,   DType::kBool,    DType::kFloat64, DType::kInt8};
  for (DType from : kinds)
    for (DType to : kinds)
      StridedCase()
          .input(random_tensor(from, {3, 77}, 1, 100))
          .node("Cast", {"0"}, {"y"}, attributes_of(AttributePair("to", static_cast<int64_t>(to))))
          .result("y")
          .tolerance(1e-3)
          .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, ANaNIsTrue) {
  StridedCase()
      .input(extreme_tensor({5, 77}))
      .node("Cast", {"0"}, {"y"}, attributes_of(AttributePair("to", static_cast<int64_t>(DType::kBool))))
      .node("Cast", {"y"}, {"f"}, attributes_of(AttributePair("to", int64_t{1})))
      .result("y")
      .result("f")
      .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, RemaindersOfBothKinds) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16})
    for (int64_t fmod : {0, 1})
      StridedCase()
          .input(random_tensor(dtype, {5, 77}, 1, 90))
          .input(random_tensor(dtype, {77}, 2, 90))
          .node("Mod", {"0", "1"}, {"y"}, attributes_of(AttributePair("fmod", fmod)))
          .result("y")
          .tolerance(dtype == DType::kFloat16 ? 2e-3 : 1e-6, 1e-6)
          .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, EmptyAndSingleElements) {
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{3, 0, 2}, Dims{1, 1, 1}})
    StridedCase()
        .input(random_tensor(DType::kFloat32, dims))
        .node("Exp", {"0"}, {"y"})
        .result("y")
        .expect("cpu.pointwise.tiles");
}

TEST(PointwiseTiles, RefusesInWords) {
  const auto refusal = StridedCase()
                           .input(random_tensor(DType::kFloat32, {3, 4}))
                           .node("Softmax", {"0"}, {"y"})
                           .result("y")
                           .refusal("cpu.pointwise.tiles");
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->find("pointwise"), std::string::npos);
}

TEST(ReferenceNode, GathersAndScatters) {
  for (Storage a : kStorages)
    for (Storage out : kStorages)
      StridedCase()
          .input(random_tensor(DType::kFloat32, {2, 5, 4, 6}), a)
          .input(random_tensor(DType::kFloat32, {6}, 2))
          .node("Mul", {"0", "1"}, {"m"})
          .node("Relu", {"m"}, {"y"})
          .result("y", out)
          .expect("reference.node");
}

}  // namespace
}  // namespace wootz
