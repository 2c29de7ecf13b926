// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/ops/nn/run_node.h"

namespace wootz {
namespace {

using Values = std::vector<double>;

TEST(BatchNormalization, TrainingMixesRunningAndBatchStatistics) {
  // Channel 0 holds 1 3 (mean 2, population variance 1); epsilon 0, momentum 0.75.
  const auto run = run_node(
      "BatchNormalization",
      {floats({2, 1, 1}, {1, 3}), floats({1}, {2}), floats({1}, {10}), floats({1}, {6}), floats({1}, {5})},
      sample_attributes({{"training_mode", int_attribute(1)},
                         {"epsilon", float_attribute(0)},
                         {"momentum", float_attribute(0.75f)}}),
      0, 3);
  expect_near(run->values(0), {8, 12});
  expect_near(run->values(1), {6 * 0.75 + 2 * 0.25});
  expect_near(run->values(2), {5 * 0.75 + 1 * 0.25});
}

TEST(BatchNormalization, Opset7WithoutSpatialHasOneScaleForEachElement) {
  const auto run =
      run_node("BatchNormalization",
               {floats({2, 1, 2}, {1, 2, 3, 4}), floats({1, 2}, {1, 10}), floats({1, 2}, {0, 1}),
                floats({1, 2}, {1, 2}), floats({1, 2}, {1, 4})},
               sample_attributes({{"spatial", int_attribute(0)}, {"epsilon", float_attribute(0)}}), 7);
  expect_near(run->values(), {0, 1, 2, 11});
}

TEST(LayerNormalization, StatisticsOfNothingAreNaN) {
  const auto run = run_node("LayerNormalization", {floats({3, 0}, {}), floats({0}, {})}, {}, 17, 3);
  for (size_t output : {1, 2}) {
    EXPECT_EQ(run->values(output).size(), 3u);
    for (double v : run->values(output)) EXPECT_TRUE(std::isnan(v));
  }
}

TEST(Softmax, OldOpsetsFlattenTheDimsFromTheAxisOn) {
  // Opset 11, axis 1 over [1,2,2]: one row of four equal elements.
  const Tensor x = floats({1, 2, 2}, {5, 5, 5, 5});
  expect_near(run_node("Softmax", {x}, {}, 11)->values(), {0.25, 0.25, 0.25, 0.25});
  expect_near(run_node("Softmax", {x}, {}, 13)->values(), {0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(run_node("Hardmax", {floats({1, 2, 2}, {1, 2, 3, 3})}, {}, 11)->values(), (Values{0, 0, 1, 0}));
}

TEST(Softmax, OldOpsetOnTheLastAxisIsThePlainOne) {
  Graph graph;
  Node* node = graph.add_node("Softmax", {graph.add_input("x", Type::tensor(DType::kFloat32, {2, 3}))});
  node->add_output("y", Type());
  CanonicalizeContext context(*node, 11);
  op_of(*node).canonicalize(context);
  EXPECT_EQ(node->attributes.get<int64_t>("axis", 0), -1);
  EXPECT_FALSE(node->attributes.contains("flatten"));
}

TEST(Softmax, LargeScoresDoNotOverflow) {
  expect_near(run_node("Softmax", {floats({2}, {1000, 1000})})->values(), {0.5, 0.5});
  expect_near(run_node("LogSoftmax", {floats({2}, {1000, 0})})->values(), {0, -1000});
}

TEST(LayerNormalization, TellsMeanAndInverseDeviation) {
  const auto run =
      run_node("LayerNormalization",
               {floats({1, 2, 2}, {1, 3, 5, 7}), floats({2, 2}, {1, 1, 1, 2}), floats({2}, {0, 1})},
               sample_attributes({{"axis", int_attribute(1)}, {"epsilon", float_attribute(0)}}), 0, 3);
  // Mean 4, variance 5.
  const double d = 1 / std::sqrt(5.0);
  expect_near(run->values(0), {-3 * d, -d + 1, d, 2 * 3 * d + 1});
  expect_near(run->values(1), {4});
  expect_near(run->values(2), {d});
  EXPECT_EQ(run->output(1).dims(), (Dims{1, 1, 1}));
}

TEST(GroupNormalization, Opset18ScalesGroups) {
  // One channel pair a group: (1 3) -> -1 1, scaled by 2, shifted by 1; second group scaled by 3.
  const auto run =
      run_node("GroupNormalization", {floats({1, 4}, {1, 3, 1, 3}), floats({2}, {2, 3}), floats({2}, {1, 0})},
               sample_attributes({{"num_groups", int_attribute(2)}, {"epsilon", float_attribute(0)}}));
  expect_near(run->values(), {-1, 3, -3, 3});
}

TEST(LRN, AnEvenSizeReachesFurtherUp) {
  // size 2: channels c and c + 1; alpha 2, beta 1, bias 1: x / (1 + sum of squares).
  const auto run = run_node(
      "LRN", {floats({1, 3}, {1, 2, 3})},
      sample_attributes(
          {{"size", int_attribute(2)}, {"alpha", float_attribute(2)}, {"beta", float_attribute(1)}}));
  expect_near(run->values(), {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

TEST(Reduce, EmptyAxesMeanAllOrNone) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), none = Tensor::int64s(Ints{});
  EXPECT_EQ(run_node("ReduceSum", {x, none})->values(), (Values{10}));
  EXPECT_EQ(run_node("ReduceSum", {x, none}, sample_attributes({{"noop_with_empty_axes", int_attribute(1)}}))
                ->values(),
            (Values{1, 2, 3, 4}));
  EXPECT_EQ(run_node("ReduceSumSquare", {x}, sample_attributes({{"noop_with_empty_axes", int_attribute(1)}}))
                ->values(),
            (Values{1, 4, 9, 16}));
}

TEST(Reduce, OldOpsetsHaveAxesAsAnAttribute) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const Attributes a = sample_attributes({{"axes", ints_attribute({-1})}, {"keepdims", int_attribute(0)}});
  EXPECT_EQ(run_node("ReduceMax", {x}, a, 13)->values(), (Values{2, 4}));
  EXPECT_EQ(run_node("ReduceSum", {x}, a, 11)->values(), (Values{3, 7}));
}

TEST(Reduce, NothingGivesTheNeutralElement) {
  const Tensor x = floats({0, 2}, {}), axis = Tensor::int64s(Ints{0});
  EXPECT_EQ(run_node("ReduceSum", {x, axis})->values(), (Values{0, 0}));
  EXPECT_EQ(run_node("ReduceProd", {x, axis})->values(), (Values{1, 1}));
  EXPECT_EQ(run_node("ReduceMax", {x, axis})->values(), (Values{-INFINITY, -INFINITY}));
  EXPECT_EQ(run_node("ReduceLogSumExp", {x, axis})->values(), (Values{-INFINITY, -INFINITY}));
  const Tensor bytes = Tensor::zeros(DType::kInt8, {0});
  EXPECT_EQ(run_node("ReduceMin", {bytes})->values(), (Values{127}));
  EXPECT_EQ(run_node("ReduceMax", {bytes})->values(), (Values{-128}));
}

TEST(Reduce, IntegersAreExactAndWrap) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(run_node("ReduceSum", {Tensor::int64s(Ints{big, 2})})->output().as<int64_t>()[0], big + 2);
  EXPECT_EQ(
      run_node("ReduceSum", {sample_tensor(DType::kInt32, {2}, {2147483647, 1})})->output().as<int32_t>()[0],
      INT32_MIN);
  EXPECT_EQ(run_node("ReduceMean", {sample_tensor(DType::kInt32, {2}, {-3, 0})})->output().as<int32_t>()[0],
            -1);
}

TEST(Reduce, LogSumExpOfLargeNumbers) {
  expect_near(run_node("ReduceLogSumExp", {floats({2}, {1000, 1000})})->values(), {1000 + std::log(2.0)},
              1e-4);
  EXPECT_EQ(run_node("ReduceLogSumExp", {floats({2}, {-INFINITY, -INFINITY})})->values(),
            (Values{-INFINITY}));
}

TEST(Reduce, TheProductOfAShapeStaysAnExpression) {
  Graph graph;
  const Dim h = graph.symbols().input("h");
  Value* shape = graph.add_symbolic_constant("shape", DType::kInt64, {h, 2});
  Node* node = graph.add_node("ReduceProd", {shape});
  node->attributes.set("keepdims", int64_t{0});
  Value* out = node->add_output("count", Type());
  infer_node(*node);
  ASSERT_TRUE(out->contents.has_value());
  EXPECT_EQ((*out->contents)[0], h * 2);
}

TEST(ArgMax, TiesAndNaN) {
  const Tensor x = floats({1, 4}, {2, 5, 5, 1});
  const auto axis = [](int64_t last) {
    return sample_attributes({{"axis", int_attribute(1)}, {"select_last_index", int_attribute(last)}});
  };
  EXPECT_EQ(run_node("ArgMax", {x}, axis(0))->values(), (Values{1}));
  EXPECT_EQ(run_node("ArgMax", {x}, axis(1))->values(), (Values{2}));
  EXPECT_EQ(run_node("ArgMin", {floats({3}, {1, NAN, 0})})->values(), (Values{1}));
}

}  // namespace
}  // namespace wootz
