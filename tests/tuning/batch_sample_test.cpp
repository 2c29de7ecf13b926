// SPDX-License-Identifier: Apache-2.0
#include "tuning/batch_sample.h"

#include <gtest/gtest.h>

#include "device/region.h"
#include "ir/text.h"
#include "memory/bind_shapes.h"
#include "ops/infer.h"

namespace wootz {
namespace {

/// A region whose body is the text's graph of one input, and what the race would see of it.
struct Made {
  std::shared_ptr<Graph> body;
  std::unique_ptr<Graph> outer;
  Problem problem;
  std::optional<SmallerBatch> smaller;

  std::optional<BatchSample> sample() const { return BatchSample::of(problem, *smaller, 7); }
};

Made make(const std::string& nodes, const Dims& x, const Dims& y) {
  Made made;
  made.body = graph_from_text("graph(%a: float32[n,16,1024]) -> (%b) {\n" + nodes + "\n}");
  infer_graph(*made.body);
  made.outer = std::make_unique<Graph>(made.body->shared_symbols());
  Node* region = made.outer->add_node(kRegionDomain, kRegionOp,
                                      {made.outer->add_input("x", made.body->inputs()[0]->type)});
  region->attributes.set("body", made.body);
  region->add_output("y", made.body->outputs()[0]->type);
  Dims four = x;
  four[0] = 4;
  made.smaller = SmallerBatch{bind_shapes(*made.outer, std::vector<Dims>{four}), x[0], 4};
  made.problem = {region,
                  {{DType::kFloat32, x, contiguous_strides(x), nullptr}},
                  {{DType::kFloat32, y, contiguous_strides(y), nullptr}}};
  return made;
}

const Dims kWhole{128, 16, 1024};

TEST(BatchSample, RowsThatStandAloneAreJudgedByAFew) {
  for (const char* inner : {"%b = Relu(%a)", "%b = Softmax(%a) {axis=1}",
                            "%axis: int64[] = constant 1\n%b = CumSum(%a, %axis)"}) {
    const auto sample = make(inner, kWhole, kWhole).sample();
    ASSERT_TRUE(sample) << inner;
    EXPECT_EQ(sample->few().inputs[0].dims, (Dims{4, 16, 1024}));
    EXPECT_EQ(sample->extent(0), 1);
    ASSERT_EQ(sample->source().size(), 128u);
    // The same place in the row that stands there.
    const int64_t row = 16 * 1024, at = 77 * row + 5;
    EXPECT_EQ(sample->in_few(0, {at}), (std::vector<int64_t>{sample->source()[77] * row + 5}));
  }
}

TEST(BatchSample, RowsThatKnowTheirNeighboursOrPlacesAreNot) {
  const std::string mean = "%axes: int64[1] = constant [0]\n%m = ReduceMean(%a, %axes)\n%b = Sub(%a, %m)";
  const std::string sum = "%axis: int64[] = constant 0\n%b = CumSum(%a, %axis)";
  for (const std::string& inner : {mean, sum, std::string("%b = Softmax(%a) {axis=0}")})
    EXPECT_FALSE(make(inner, kWhole, kWhole).sample()) << inner;
}

TEST(BatchSample, SeveralEntriesOfTheFirstAxisMayMakeARow) {
  const Made made =
      make("%s: int64[2] = constant [-1, 1024]\n%r = Reshape(%a, %s)\n%b = Exp(%r)", kWhole, {2048, 1024});
  const auto sample = made.sample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->few().outputs[0].dims, (Dims{64, 1024}));
  const int64_t at = (16 * 77 + 3) * 1024 + 9;
  EXPECT_EQ(sample->in_few(0, {at}), (std::vector<int64_t>{(16 * sample->source()[77] + 3) * 1024 + 9}));
}

TEST(BatchSample, SmallProblemsAreJudgedWhole) {
  const Dims dims{8, 16, 1024};
  EXPECT_FALSE(make("%b = Relu(%a)", dims, dims).sample());
}

}  // namespace
}  // namespace wootz
