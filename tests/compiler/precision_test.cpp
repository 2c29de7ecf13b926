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

}  // namespace
}  // namespace wootz::compile_tests
