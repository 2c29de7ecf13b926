// SPDX-License-Identifier: Apache-2.0
// Cases worked out by hand from the specification.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/sample_tensors.h"
#include "tests/ops/run_op.h"

namespace wootz {
namespace {

using sample::counting;
using sample::floats;
using sample::ints;
using testing::ElementsAre;
using testing::FloatNear;
using testing_ops::run_one;

TEST(NonMaxSuppression, KeepsAnOverlapEqualToTheThreshold) {
  // IoU(0, 1) = 0.5, IoU(0, 2) = 0.9, IoU(1, 2) = 0.4; box 2 has its corners flipped.
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 10, 10, 0, 0, 10, 5, 10, 10, 0, 1});
  const Tensor scores = floats({1, 2, 3}, {0.9f, 0.8f, 0.7f, 0.7f, 0.8f, 0.9f});
  const Tensor rows =
      run_one("NonMaxSuppression", {boxes, scores, ints({10}), floats({1}, {0.5f}), floats({1}, {0})});
  EXPECT_THAT(rows.to_int64s(), ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 2, 0, 1, 1));
}

TEST(NonMaxSuppression, NoLimitMeansNoBox) {
  const Tensor boxes = floats({1, 1, 4}, {0, 0, 1, 1});
  EXPECT_EQ(run_one("NonMaxSuppression", {boxes, floats({1, 1, 1}, {1})}).dims(), (Dims{0, 3}));
}

/// Greedy selection over all pairs, as the specification tells it.
std::vector<int64_t> select_plainly(const std::vector<float>& boxes, const std::vector<float>& scores,
                                    float threshold) {
  std::vector<size_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  const auto side = [&](size_t i, size_t k) { return boxes[i * 4 + k]; };
  const auto area = [&](size_t i) { return (side(i, 2) - side(i, 0)) * (side(i, 3) - side(i, 1)); };
  for (size_t i : order) {
    bool clear = true;
    for (int64_t k : kept) {
      const auto j = static_cast<size_t>(k);
      const float h = std::min(side(i, 2), side(j, 2)) - std::max(side(i, 0), side(j, 0));
      const float w = std::min(side(i, 3), side(j, 3)) - std::max(side(i, 1), side(j, 1));
      if (h > 0 && w > 0 && h * w / (area(i) + area(j) - h * w) > threshold) clear = false;
    }
    if (clear) kept.push_back(static_cast<int64_t>(i));
  }
  return kept;
}

TEST(NonMaxSuppression, ManyBoxesMatchTheComparisonOfAllPairs) {
  for (float spread : {20.0f, 300.0f, 20000.0f}) {
    std::mt19937 random(3);
    std::vector<float> boxes, scores;
    for (int i = 0; i < 400; ++i) {
      const float y = static_cast<float>(random() % 1000) * spread / 1000,
                  x = static_cast<float>(random() % 1000) * spread / 1000;
      boxes.insert(boxes.end(), {y, x, y + 1 + static_cast<float>(random() % 40),
                                 x + 1 + static_cast<float>(random() % 40)});
      scores.push_back(static_cast<float>(random() % 100) / 100);
    }
    const Tensor rows = run_one("NonMaxSuppression", {floats({1, 400, 4}, boxes), floats({1, 1, 400}, scores),
                                                      ints({400}), floats({1}, {0.3f})});
    std::vector<int64_t> found;
    for (int64_t i = 0; i < rows.dims()[0]; ++i) found.push_back(rows.as<int64_t>()[i * 3 + 2]);
    EXPECT_EQ(found, select_plainly(boxes, scores, 0.3f)) << "spread " << spread;
  }
}

TEST(RoiAlign, AdaptiveSamplesOfARamp) {
  // A linear ramp in x: every bin's mean is the ramp at the bin's centre, shifted by half a pixel.
  Tensor x = Tensor::zeros(DType::kFloat32, {1, 1, 6, 6});
  for (int i = 0; i < 36; ++i) x.as<float>()[i] = static_cast<float>(i % 6);
  const Tensor y = run_one("RoiAlign", {x, floats({1, 4}, {1, 1, 5, 5}), ints({0})},
                           {{"output_height", int64_t{1}}, {"output_width", int64_t{2}}});
  EXPECT_THAT(y.span<float>(), ElementsAre(FloatNear(1.5f, 1e-6f), FloatNear(3.5f, 1e-6f)));
}

TEST(GridSample, BorderKeepsTheFractionOfCubicTaps) {
  // x = -0.25 at width 4: taps -2, -1, 0, 1 clamp to 0, 0, 0, 1, so only the last weight meets element 1.
  const Tensor x = floats({1, 1, 1, 4}, {0, 1, 2, 3});
  const float n = (2 * -0.25f + 1) / 4 - 1;
  const double t = 1.25, a = -0.75;  // distance of tap 1
  const double weight = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  const Tensor y = run_one("GridSample", {x, floats({1, 1, 1, 2}, {n, 0})},
                           {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}});
  EXPECT_NEAR(*y.as<float>(), weight, 1e-6);
}

TEST(GridSample, ZerosOutsideAndReflection) {
  const Tensor x = floats({1, 1, 1, 2}, {1, 3});
  const Tensor grid = floats({1, 1, 3, 2}, {-1, 0, 0, 0, 1.5f, 0});  // x = -0.5, 0.5, 2.0 (of 2)
  EXPECT_THAT(run_one("GridSample", {x, grid}).span<float>(), ElementsAre(0.5f, 2, 0));
  EXPECT_THAT(run_one("GridSample", {x, grid}, {{"padding_mode", std::string("reflection")}}).span<float>(),
              ElementsAre(1, 2, 3));
}

TEST(AffineGrid, IdentityGivesPixelCentres) {
  const Tensor y = run_one("AffineGrid", {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), ints({1, 1, 1, 2})});
  EXPECT_THAT(y.span<float>(), ElementsAre(-0.5f, 0, 0.5f, 0));
}

TEST(MaxRoiPool, MaximumOfEachBin) {
  const Tensor y =
      run_one("MaxRoiPool", {counting(DType::kFloat32, {1, 1, 4, 4}), floats({1, 5}, {0, 0, 0, 3, 3})},
              {{"pooled_shape", Ints{2, 2}}});
  EXPECT_THAT(y.span<float>(), ElementsAre(5, 7, 13, 15));
}

}  // namespace
}  // namespace wootz
