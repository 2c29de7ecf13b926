// SPDX-License-Identifier: Apache-2.0
// What nodes of old opsets compute: the operator's own version counts, not the model's newest.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;

/// The node's results on x: [1, 1, 2, 4] of 1, 2, ... 8.
std::vector<Datum> results(const NodeSpec& node, int64_t opset, std::vector<Bytes> initializers = {}) {
  ModelSpec spec;
  spec.opsets = {{"", opset}};
  spec.graph.nodes = {node};
  spec.graph.inputs = {float_info("x", {1, 1, 2, 4})};
  for (const std::string& name : node.outputs) spec.graph.outputs.push_back(value_info(name, ""));
  spec.graph.initializers = std::move(initializers);
  const ImportedModel model = test_ops::import(spec);
  Tensor x = Tensor::zeros(DType::kFloat32, {1, 1, 2, 4});
  for (int i = 0; i < 8; ++i) x.as<float>()[i] = static_cast<float>(i + 1);
  const Datum inputs[] = {x};
  return evaluate_graph(*model.graph, inputs);
}

using Doubles = std::vector<double>;

TEST(OldOpsets, NearestOfResize10RoundsUpWhereItShrinks) {
  const auto scales = [](float height, float width) {
    return std::vector<Bytes>{float_tensor("s", {4}, {1, 1, height, width})};
  };
  const NodeSpec resize{"Resize", {"x", "s"}, {"y"}, {}, "", ""};
  EXPECT_EQ(results(resize, 10, scales(0.6f, 0.6f))[0].tensor.to_doubles(), (Doubles{1, 3}));
  EXPECT_EQ(results(resize, 10, scales(0.5f, 1.5f))[0].tensor.to_doubles(), (Doubles{1, 1, 2, 3, 3, 4}));
}

TEST(OldOpsets, UpsampleOfOpset1ScalesHeightAndWidth) {
  const NodeSpec upsample{"Upsample", {"x"},
                          {"y"},      {float_attribute("height_scale", 1), float_attribute("width_scale", 2)},
                          "",         ""};
  EXPECT_EQ(results(upsample, 1)[0].tensor.dims(), (Dims{1, 1, 2, 8}));
}

TEST(OldOpsets, SplitOfOpset1TakesLengthsAsFloats) {
  const NodeSpec split{"Split", {"x", "lengths"}, {"a", "b"}, {int_attribute("axis", 3)}, "", ""};
  const std::vector<Datum> parts = results(split, 1, {float_tensor("lengths", {2}, {1, 3})});
  EXPECT_EQ(parts[0].tensor.to_doubles(), (Doubles{1, 5}));
  EXPECT_EQ(parts[1].tensor.dims(), (Dims{1, 1, 2, 3}));
}

TEST(OldOpsets, NormOrdersOfOpset1AreFloats) {
  EXPECT_EQ(
      results({"GlobalLpPool", {"x"}, {"y"}, {float_attribute("p", 1)}, "", ""}, 1)[0].tensor.to_doubles(),
      (Doubles{36}));
  EXPECT_THROW(results({"GlobalLpPool", {"x"}, {"y"}, {float_attribute("p", 1.5f)}, "", ""}, 1), Error);
}

TEST(OldOpsets, MaskOfDropout7HasTheDatasType) {
  const NodeSpec dropout{"Dropout", {"x"}, {"y", "mask"}, {float_attribute("ratio", 0.5f)}, "", ""};
  const std::vector<Datum> old = results(dropout, 7), newer = results(dropout, 10);
  EXPECT_EQ(old[1].tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(old[1].tensor.to_doubles(), Doubles(8, 1));
  EXPECT_EQ(newer[1].tensor.dtype(), DType::kBool);
}

TEST(OldOpsets, ErfOfOpset9TakesIntegers) {
  const NodeSpec erf{"Erf", {"n"}, {"y"}, {}, "", ""};
  EXPECT_EQ(results(erf, 9, {int64_tensor("n", {4}, {-9, 0, 1, 9})})[0].tensor.to_int64s(),
            (Ints{-1, 0, 0, 1}));
}

TEST(OldOpsets, AttributesWithoutMeaningAreDropped) {
  const auto ints = [](const char* name) { return ints_attribute(name, {0, 0, 0}); };
  const std::vector<Bytes> channel = {float_tensor("s", {1}, {1}), float_tensor("b", {1}, {0})};
  EXPECT_NO_THROW(results(
      {"InstanceNormalization", {"x", "s", "b"}, {"y"}, {ints("consumed_inputs")}, "", ""}, 1, channel));
}

}  // namespace
}  // namespace wootz
