// SPDX-License-Identifier: Apache-2.0
// Lower precision from the option to the verified engine.
#include <algorithm>
#include <cmath>

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

/// Blocks of four along k of the activations, each with a scale and a zero point.
const std::string kBlockedActivations = R"(graph(%x: float32[2,8]) -> (%y) {
%scale: float32[2,2] = constant [0.01, 0.02, 0.005, 0.03]
%zero: uint8[2,2] = constant [128, 100, 3, 200]
%w: float32[8,3] = constant [1, -1, 0.3, -1, 0.9, 0.2, 0.7, -0.8, -1, -0.7, 0.8, 1, 0.1, 0.3, -0.6, -0.1, -0.2, 0.1, 1, 2, 3, -3, -2, -1]
%q = QuantizeLinear(%x, %scale, %zero) {axis=1, block_size=4}
%d = DequantizeLinear(%q, %scale, %zero) {axis=1, block_size=4}
%y = MatMul(%d, %w)
})";

TEST(Precision, ActivationsQuantizedInBlocks) {
  CompileOptions options;
  options.shapes["x"] = {2, 8};
  const auto engine = compile_text(kBlockedActivations, options);
  expect_matches_reference(kBlockedActivations, engine, {ramp({2, 8})});
  // By hand: element 0 is -1, block 0 of row 0: round(-1 / 0.01) + 128 = 28, back (28 - 128) * 0.01.
  const Baseline baseline(read_model(kBlockedActivations), 1);
  bool seen = false;
  (void)baseline.run(std::vector<Datum>{ramp({2, 8})}, [&](const Value* v, const Datum& d) {
    if (v->name != "q") return;
    seen = true;
    const float x0 = ramp({2, 8}).tensor.as<float>()[0], x7 = ramp({2, 8}).tensor.as<float>()[7];
    const auto byte = [](float x, float scale, int zero) {
      return std::clamp(static_cast<int>(std::nearbyintf(x / scale)) + zero, 0, 255);
    };
    EXPECT_EQ(d.tensor.as<uint8_t>()[0], byte(x0, 0.01f, 128));
    EXPECT_EQ(d.tensor.as<uint8_t>()[7], byte(x7, 0.02f, 100));
  });
  EXPECT_TRUE(seen);
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
