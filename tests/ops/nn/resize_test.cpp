// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/resize.h"

#include "tests/ops/nn/run_node.h"

namespace wootz {
namespace {

using Values = std::vector<double>;
using Item = std::pair<const char*, Attribute>;

Item text(const char* name, const char* value) { return {name, string_attribute(value)}; }

std::vector<double> resize(const Tensor& x, Datum scales, Datum sizes, std::initializer_list<Item> attributes,
                           Datum roi = {}) {
  return run_node("Resize", {x, std::move(roi), std::move(scales), std::move(sizes)},
                  sample_attributes(attributes))
      ->values();
}

TEST(Resize, NearestRoundsHalvesAsTold) {
  // Length 2 to 4 by half_pixel: positions -0.25, 0.25, 0.75, 1.25. By asymmetric: 0, 0.5, 1, 1.5.
  const Tensor x = floats({2}, {1, 2}), twice = floats({1}, {2});
  EXPECT_EQ(resize(x, twice, {}, {}), (Values{1, 1, 2, 2}));
  const Item asymmetric = text("coordinate_transformation_mode", "asymmetric");
  EXPECT_EQ(resize(x, twice, {}, {asymmetric}), (Values{1, 1, 2, 2}));
  EXPECT_EQ(resize(x, twice, {}, {asymmetric, text("nearest_mode", "round_prefer_ceil")}),
            (Values{1, 2, 2, 2}));
  EXPECT_EQ(resize(x, twice, {}, {asymmetric, text("nearest_mode", "ceil")}), (Values{1, 2, 2, 2}));
}

TEST(Resize, AThirdIsAThird) {
  // 1 / 0.33333334f is a little less than 3: the position is 3 all the same.
  const Tensor x = floats({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(resize(x, floats({1}, {1.0 / 3}), {},
                   {text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")}),
            (Values{0, 3, 6}));
}

TEST(Resize, LinearHalfPixelRepeatsTheEdge) {
  const Tensor x = floats({2}, {0, 4});
  expect_near(resize(x, floats({1}, {2}), {}, {text("mode", "linear")}), {0, 1, 3, 4});
  expect_near(resize(x, {}, Tensor::int64s(Ints{3}),
                     {text("mode", "linear"), text("coordinate_transformation_mode", "align_corners")}),
              {0, 2, 4});
}

TEST(Resize, OneOutputSitsAtTheStart) {
  const Tensor x = floats({3}, {5, 6, 8});
  const Item linear = text("mode", "linear");
  const Datum one = Tensor::int64s(Ints{1});
  EXPECT_EQ(resize(x, {}, one, {linear, text("coordinate_transformation_mode", "pytorch_half_pixel")}),
            (Values{5}));
  EXPECT_EQ(resize(x, {}, one, {linear, text("coordinate_transformation_mode", "align_corners")}),
            (Values{5}));
  EXPECT_EQ(resize(x, {}, one, {linear}), (Values{6}));
}

TEST(Resize, CubicInTheMiddle) {
  // At 0.5 with a = -0.75 the weights are -0.09375, 0.59375, 0.59375, -0.09375.
  const Tensor x = floats({4}, {1, 2, 4, 8});
  const double expected = -0.09375 * (1 + 8) + 0.59375 * (2 + 4);
  // Length 4 to 2 by half_pixel: positions 0.5 and 2.5; at 0.5 the left neighbour repeats the edge.
  const std::vector<double> y = resize(x, {}, Tensor::int64s(Ints{2}), {text("mode", "cubic")});
  EXPECT_NEAR(y[0], -0.09375 * (1 + 4) + 0.59375 * (1 + 2), 1e-6);
  const std::vector<double> middle = resize(x, {}, Tensor::int64s(Ints{1}), {text("mode", "cubic")});
  EXPECT_NEAR(middle[0], expected, 1e-6);
}

TEST(Resize, AntialiasWidensTheTriangle) {
  // 4 to 2: triangle of half-width 2 around 0.5: raw weights at -1..2: .25 .75 .75 .25, the one at -1 falls
  // on the edge.
  const Tensor x = floats({4}, {1, 2, 4, 8});
  const std::vector<double> y =
      resize(x, floats({1}, {0.5}), {}, {text("mode", "linear"), {"antialias", int_attribute(1)}});
  EXPECT_NEAR(y[0], (0.25 * 1 + 0.75 * 1 + 0.75 * 2 + 0.25 * 4) / 2, 1e-6);
}

TEST(Resize, AspectRatioPolicies) {
  const Tensor x = floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Datum sizes = Tensor::int64s(Ints{4, 6});  // scales 2 and 1.5
  EXPECT_EQ(run_node("Resize", {x, {}, {}, sizes},
                     sample_attributes({text("keep_aspect_ratio_policy", "not_larger")}))
                ->output()
                .dims(),
            (Dims{3, 6}));
  EXPECT_EQ(run_node("Resize", {x, {}, {}, sizes},
                     sample_attributes({text("keep_aspect_ratio_policy", "not_smaller")}))
                ->output()
                .dims(),
            (Dims{4, 8}));
}

TEST(Resize, CropsOutsideBecomeTheExtrapolationValue) {
  const std::vector<double> y = resize(floats({3}, {1, 2, 3}), {}, Tensor::int64s(Ints{3}),
                                       {text("mode", "linear"),
                                        text("coordinate_transformation_mode", "tf_crop_and_resize"),
                                        {"extrapolation_value", float_attribute(9)}},
                                       floats({2}, {0.5, 1.5}));
  // Positions 1, 2, 3 of a length of 3.
  EXPECT_EQ(y, (Values{2, 3, 9}));
}

TEST(Resize, Opset10AndUpsampleFloorTheCoordinate) {
  const Tensor x = floats({2}, {1, 2}), scales = floats({1}, {1.5});
  EXPECT_EQ(run_node("Resize", {x, scales}, {}, 10)->values(), (Values{1, 1, 2}));
}

TEST(Resize, SymbolicSizesFromScales) {
  Graph graph;
  const Dim h = graph.symbols().input("h");
  Node* node = graph.add_node("Resize", {graph.add_input("x", Type::tensor(DType::kFloat32, {1, h})), nullptr,
                                         graph.add_constant("scales", floats({2}, {1, 2}))});
  Value* y = node->add_output("y", Type());
  infer_node(*node);
  EXPECT_EQ((*y->type.shape)[1], h * 2);
}

TEST(Resize, WantsScalesOrSizes) {
  const Tensor x = floats({2}, {1, 2});
  EXPECT_THROW(resize(x, {}, {}, {}), Error);
  EXPECT_THROW(resize(x, floats({1}, {2}), Tensor::int64s(Ints{4}), {}), Error);
  EXPECT_THROW(resize(x, floats({1}, {-2}), {}, {}), Error);
  EXPECT_THROW(resize(x, floats({1}, {2}), {}, {text("mode", "bilinear")}), Error);
}

}  // namespace
}  // namespace wootz
