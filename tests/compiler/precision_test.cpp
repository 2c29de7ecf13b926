// SPDX-License-Identifier: Apache-2.0
// Lower precision from the option to the verified engine.
#include <algorithm>

#include "device/region.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

CompileOptions asked(DType type) {
  CompileOptions options;
  options.shapes["x"] = {2, 3, 8, 8};
  options.precision.type = type;
  return options;
}

bool any_value(const Graph& graph, DType type) {
  return std::any_of(graph.values().begin(), graph.values().end(),
                     [&](const auto& v) { return v->type.dtype == type; });
}

TEST(Precision, EngineKeepsItsInterfaceAndItsBound) {
  for (DType type : {DType::kFloat16, DType::kBFloat16}) {
    const auto engine = compile_text(kSmallNet, asked(type));
    EXPECT_TRUE(any_value(*engine->graph, type));
    EXPECT_EQ(engine->graph->inputs()[0]->type.dtype, DType::kFloat32);
    EXPECT_EQ(engine->graph->outputs()[0]->type.dtype, DType::kFloat32);
    EXPECT_EQ(engine->graph->outputs()[0]->name, "y");
    EXPECT_EQ(engine->facts.at("precision"), dtype_name(type));
    ASSERT_GE(engine->verification.size(), 1u);
    EXPECT_GT(engine->verification[0].relative, 1e-6);  // it is 16 bits
    EXPECT_LT(engine->verification[0].relative, type == DType::kFloat16 ? 5e-3 : 4e-2);
    EXPECT_TRUE(std::any_of(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
      return r.stage == "lower_precision" && r.text.find("Conv in") != std::string::npos;
    }));
  }
}

TEST(Precision, EveryShapeRuns) {
  const auto engine = compile_text(kSmallNet, asked(DType::kFloat16));
  const std::unique_ptr<Graph> graph = read_model(kSmallNet);
  for (const Dims& dims : {Dims{1, 3, 5, 7}, Dims{3, 3, 1, 1}}) {
    const std::vector<Datum> inputs{ramp(dims)}, want = evaluate_graph(*graph, inputs);
    ExecutionState state(engine);
    std::vector<Datum> got(want.size());
    ASSERT_TRUE(state.run(inputs, got).ok());
    EXPECT_LT(compare_data(want[0], got[0]).relative, 1e-2);
  }
}

TEST(Precision, Tf32IsAPermissionOnRegions) {
  CompileOptions options = asked(DType::kFloat32);
  options.precision.tf32 = true;
  const auto engine = compile_text(kSmallNet, options);
  EXPECT_FALSE(any_value(*engine->graph, DType::kFloat16));
  size_t permitted = 0;
  for (const auto& node : engine->graph->nodes()) permitted += node->attributes.get<int64_t>("tf32", 0) == 1;
  EXPECT_EQ(permitted, 4u);  // three convolutions and a product
  const auto exact = compile_text(kSmallNet, asked(DType::kFloat32));
  for (const auto& node : exact->graph->nodes()) EXPECT_FALSE(node->attributes.contains("tf32"));
}

/// A sigmoid that turns the last bits of its sums into whole outputs; `weights` are those of one product.
std::string steep_net(const std::string& weights) {
  return R"(graph(%x: float32[n,4]) -> (%y) {
%w: float32[4,6] = constant [)" +
         weights + R"(]
%gain: float32[] = constant [2000]
%m = MatMul(%x, %w)
%r = Relu(%m)
%w2: float32[6,3] = constant [1, -1, 0.3, -1, 0.9, 0.2, 0.7, -0.8, -1, -0.7, 0.8, 1, 0.1, 0.3, -0.6, -0.1, -0.2, 0.1]
%s = MatMul(%r, %w2)
%g = Mul(%s, %gain)
%y = Sigmoid(%g)
}
)";
}
const std::string kWeights =
    "0.31, 0.31, 0.52, 0.52, -0.4, 0.2, 0.7, 0.7, 0.11, 0.11, 0.6, 0.3, 0.23, 0.23, 0.9, 0.9, 0.1, -0.7, "
    "0.4, 0.4, "
    "0.35, 0.35, 0.8, 0.5";

TEST(Precision, SensitiveModelsAreJudgedByWhatRoundingThemChanges) {
  CompileOptions options = asked(DType::kBFloat16);
  options.shapes["x"] = {4000, 4};
  const auto engine = compile_text(steep_net(kWeights), options);
  const auto excused =
      std::find_if(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
        return r.stage == "verify" && r.text.find("the model itself changes by") != std::string::npos;
      });
  ASSERT_NE(excused, engine->remarks.end());
  EXPECT_NE(excused->text.find("beyond the type's bound"), std::string::npos);

  // The same engine against other weights: as sensitive, but wrong.
  std::string other = kWeights;
  other.replace(other.find("0.7, 0.7"), 8, "0.7, 0.4");
  const std::shared_ptr<const Graph> graph = read_model(steep_net(other));
  const Baseline baseline(graph, 1);
  VerifySample sample{"random", random_inputs(*graph, std::vector<Dims>{{4000, 4}}, 3), {}, true};
  sample.expected = baseline.run(sample.inputs);
  ExecutionState state(engine);
  EXPECT_THROW(verify_engine(state, baseline, sample, output_bound(DType::kBFloat16)), Error);
}

}  // namespace
}  // namespace wootz::compile_tests
