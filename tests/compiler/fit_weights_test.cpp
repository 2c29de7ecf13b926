// SPDX-License-Identifier: Apache-2.0
#include "compiler/fit_weights.h"

#include <algorithm>

#include "memory/bind_shapes.h"
#include "tests/compiler/compiled.h"
#include "tuning/race.h"

namespace wootz::compile_tests {
namespace {

const Tactic& winograd(const Backend& backend) {
  for (const Tactic* t : backend.tactics())
    if (t->id() == "cpu.conv.winograd") return *t;
  throw Error(ErrorKind::kInternal, "no Winograd");
}

/// A 3x3 convolution of 256 channels, as compiled from `text`'s graph.
std::shared_ptr<Graph> convolution() {
  auto graph = std::make_shared<Graph>();
  Value* x = graph->add_input("x", Type::tensor(DType::kFloat32, Shape{1, 256, 8, 8}));
  Value* w = graph->add_constant("w", ramp({256, 256, 3, 3}).tensor);
  Node* conv = graph->add_node("Conv", {x, w});
  conv->attributes.set("pads", Ints{1, 1, 1, 1});
  graph->add_output(conv->add_output("y", Type{}));
  infer_graph(*graph);
  return graph;
}

size_t packed_bytes(const EngineData& engine) {
  size_t bytes = 0;
  for (const StepRecord& s : engine.steps)
    if (!s.choices.empty())
      for (const Tensor& t : s.choices[0].packed) bytes += t.size_bytes();
  return bytes;
}

const std::vector<Dims> kDims = {{1, 256, 8, 8}};

/// F(4x4) won; F(2x2) is slower and needs less than half.
std::shared_ptr<EngineData> engine_with_rivals(const Backend& backend) {
  ImportedModel model;
  model.graph = convolution();
  CompileOptions options;
  options.tune = false;
  options.allow_vendor_libraries = false;
  options.tactics = {"cpu.conv.winograd"};
  auto engine = compile(std::move(model), options);
  const ShapePlan plan = plan_of(*engine, bind_shapes(*engine->graph, kDims));
  size_t index = 0;
  for (const auto& node : engine->graph->nodes()) {
    StepRecord& step = engine->steps[index++];
    if (step.choices.empty() || step.choices[0].tactic_id != "cpu.conv.winograd") continue;
    const Problem problem = problem_of(*node, plan, engine->threads);
    step.candidates.clear();
    for (const TacticConfig& config : winograd(backend).configs(problem)) {
      const bool is_large = config.get("tile") == 4;
      step.candidates.push_back({"cpu.conv.winograd", config.to_string(), is_large ? 100.0 : 150.0, 0, ""});
      if (!is_large) continue;
      step.choices[0].config = config;
      step.choices[0].packed = winograd(backend).pack(problem, config);
      step.time_us = 100;
    }
  }
  return engine;
}

TEST(FitWeights, ASlowerRivalWithSmallerWeightsIsTaken) {
  const Backend& backend = *find_backend(BackendRegistry::global(), "cpu");
  const auto engine = engine_with_rivals(backend);
  const Bindings bindings = bind_shapes(*engine->graph, kDims);
  TimingCache cache;
  Race race(backend, engine->threads, cache, {});
  const size_t plain = 256 * 256 * 9 * sizeof(float);
  ASSERT_GT(static_cast<double>(packed_bytes(*engine)), kMostPackedWeights * plain);
  const auto prove = [&](const Problem& p, const CandidateRecord& lost) {
    return race.prove(p, bindings, lost);
  };
  fit_weights(*engine, backend, plan_of(*engine, bindings), prove);
  EXPECT_LE(static_cast<double>(packed_bytes(*engine)), kMostPackedWeights * plain);
  EXPECT_TRUE(std::any_of(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
    return r.text.find("smaller weights, for 50.0 us") != std::string::npos;
  }));
  const std::vector<Datum> inputs = {ramp(kDims[0])};
  const std::vector<Datum> want = evaluate_graph(*convolution(), inputs);
  std::vector<Datum> got(1);
  ExecutionState(engine).run(inputs, got).throw_if_failed();
  for (const OutputError& e : compare_outputs(*engine->graph, want, got, "test"))
    EXPECT_LE(e.relative, e.bound);
}

TEST(FitWeights, ARivalThatIsWrongIsNot) {
  const Backend& backend = *find_backend(BackendRegistry::global(), "cpu");
  const auto engine = engine_with_rivals(backend);
  const size_t before = packed_bytes(*engine);
  int asked = 0;
  fit_weights(*engine, backend, plan_of(*engine, bind_shapes(*engine->graph, kDims)),
              [&](const Problem&, const CandidateRecord&) -> std::optional<RaceWin> {
                ++asked;
                return std::nullopt;
              });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(packed_bytes(*engine), before);
  EXPECT_TRUE(std::none_of(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
    return r.text.find("smaller weights") != std::string::npos;
  }));
}

}  // namespace
}  // namespace wootz::compile_tests
