// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/pipeline.h"
#include "memory/bind_shapes.h"
#include "memory/peak_formula.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

TEST(Compile, EngineMatchesTheReferenceAtEveryShape) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  const auto engine = compile_text(kSmallNet, options);
  for (const Dims& dims : {Dims{1, 3, 8, 8}, Dims{2, 3, 5, 7}, Dims{1, 3, 1, 1}, Dims{3, 3, 16, 4}})
    expect_matches_reference(kSmallNet, engine, {ramp(dims)});
}

// At one pixel a layout conversion and a sum with a pooled value share memory; at more they must not.
TEST(Compile, DecisionsOfATinyTunedShapeDoNotHoldElsewhere) {
  CompileOptions options;
  options.shapes["x"] = {2, 3, 1, 1};
  const auto engine = compile_text(kSmallNet, options);
  expect_matches_reference(kSmallNet, engine, {ramp({2, 3, 6, 5})});
  expect_matches_reference(kSmallNet, engine, {ramp({1, 3, 1, 1})});
}

TEST(Compile, ConcatRunsNothing) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  const auto engine = compile_text(kSmallNet, options);
  size_t views = 0;
  for (const StepRecord& s : engine->steps) views += runs_nothing(s.sharing) ? 1 : 0;
  EXPECT_GE(views, 2u);  // the concat and the flatten
}

TEST(Compile, EveryShapeIsStackedAlikeAndNearTheBound) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  const auto engine = compile_text(kSmallNet, options);
  ASSERT_FALSE(engine->stacking.empty());
  for (const Dims& dims : {Dims{1, 3, 8, 8}, Dims{64, 3, 32, 20}, Dims{2, 3, 1, 1}}) {
    const ShapePlan plan = plan_of(*engine, bind_shapes(*engine->graph, std::vector<Dims>{dims}));
    EXPECT_LE(double(plan.arena_bytes), kStackingSlack * double(plan.live_bound_bytes));
    EXPECT_FALSE(plan.is_planned_anew);
  }
}

// With a buffer a step beside them the values keep their order, and what a step works on stays apart.
TEST(Compile, WorkspacesLieBetweenTheValues) {
  CompileOptions options;
  options.shapes["x"] = {2, 3, 8, 8};
  const auto engine = compile_text(kSmallNet, options);
  const Bindings bindings = bind_shapes(*engine->graph, std::vector<Dims>{{2, 3, 8, 8}});
  const size_t alone = plan_of(*engine, bindings).arena_bytes;
  for (const size_t bytes : {size_t{64}, size_t{1000}, 2 * alone}) {
    ShapePlan plan = plan_strides(*engine->graph, bindings, sharing_of(*engine));
    plan_arena(*engine->graph, plan, engine->stacking,
               std::vector<size_t>(engine->graph->node_count(), bytes));
    EXPECT_LE(double(plan.arena_bytes), kStackingSlack * double(plan.live_bound_bytes));
    EXPECT_LE(plan.arena_bytes, alone + (bytes + 63) / 64 * 64);
    size_t step = 0;
    for (const auto& node : engine->graph->nodes()) {
      const size_t begin = plan.workspaces[step++];
      EXPECT_LE(begin + bytes, plan.arena_bytes);
      const auto expect_apart = [&](const Value* v) {
        const Placement& p = plan.values[static_cast<size_t>(v->id())];
        if (p.kind != Placement::Kind::kArena) return;
        const size_t end = p.offset_bytes + static_cast<size_t>(p.desc.size()) * dtype_size(p.desc.dtype);
        EXPECT_TRUE(begin + bytes <= p.offset_bytes || begin >= end) << node->op << " " << v->name;
      };
      for (const Value* v : node->inputs())
        if (v) expect_apart(v);
      for (const Value* v : node->outputs())
        if (v) expect_apart(v);
    }
  }
}

// Tuned where the branch over %a is the larger, run where the other one is: the stored order may not do.
TEST(Compile, AStackingThatWastesMemoryIsReplaced) {
  const std::string text = R"(graph(%a: float32[n,1], %b: float32[m,1]) -> (%y, %z) {
%w: float32[1,8] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%v: float32[8,1] = constant [1, -2, 3, -4, 5, -6, 7, -8]
%p = MatMul(%a, %w)
%q = MatMul(%b, %w)
%r = Softmax(%p)
%s = Softmax(%q)
%t = MatMul(%s, %v)
%u = MatMul(%r, %v)
%y = Relu(%t)
%z = Relu(%u)
})";
  CompileOptions options;
  options.shapes["a"] = {512, 1};
  options.shapes["b"] = {16, 1};
  const auto engine = compile_text(text, options);
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{16, 512}, {512, 16}, {300, 300}}) {
    const ShapePlan plan = plan_of(*engine, bind_shapes(*engine->graph, std::vector<Dims>{{n, 1}, {m, 1}}));
    const ShapePlan anew = plan_shapes(
        *engine->graph, bind_shapes(*engine->graph, std::vector<Dims>{{n, 1}, {m, 1}}), sharing_of(*engine));
    EXPECT_LE(double(plan.arena_bytes),
              std::max(kStackingSlack * double(plan.live_bound_bytes), double(anew.arena_bytes)));
    expect_matches_reference(text, engine, {ramp({n, 1}), ramp({m, 1})});
  }
}

TEST(Compile, ThePeakIsAFormula) {
  CompileOptions options;
  options.shapes["x"] = {4, 3, 16, 16};
  const auto engine = compile_text(kSmallNet, options);
  const Bindings bindings = bind_shapes(*engine->graph, std::vector<Dims>{{4, 3, 16, 16}});
  const ShapePlan plan = plan_of(*engine, bindings);
  SymbolTable symbols = engine->graph->symbols();
  const Dim formula = symbols.parse(peak_formula(*engine->graph, plan));
  EXPECT_FALSE(formula.is_constant());
  Bindings values(symbols);
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"n", 4}, {"h", 16}, {"w", 16}}) {
    const Dim dim = symbols.input(name);
    values.bind(dim.terms()[0].first, value);
  }
  // Rounded to 64 bytes a buffer.
  const auto bytes = static_cast<size_t>(values.evaluate(formula).value());
  EXPECT_LE(bytes, plan.arena_bytes);
  EXPECT_GE(bytes + 64 * plan.peak_chain.size(), plan.arena_bytes);
}

TEST(Compile, SizesThatOnlyTheRunTells) {
  const std::string text = R"(graph(%x: float32[n]) -> (%y, %k) {
%z: float32[] = constant 0
%m = Greater(%x, %z)
%i = NonZero(%m)
%t = Transpose(%i)
%g = GatherND(%x, %t)
%y = Relu(%g)
%k = Shape(%g)
})";
  CompileOptions options;
  options.shapes["x"] = {10};
  const auto engine = compile_text(text, options);
  expect_matches_reference(text, engine, {ramp({10})});
  expect_matches_reference(text, engine, {ramp({33})});
}

TEST(Compile, MarkedValuesBecomeOutputs) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 4, 4};
  options.marks = {"b"};
  const auto engine = compile_text(kSmallNet, options);
  ASSERT_EQ(engine->graph->outputs().size(), 2u);
  EXPECT_EQ(engine->graph->outputs()[1]->name, "b");
}

TEST(Compile, CancelledBuildSaysSo) {
  CompileOptions options;
  options.progress = [](const Progress& p) { return p.stage != "race"; };
  try {
    compile_text(kSmallNet, options);
    FAIL() << "the build was not cancelled";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCancelled);
  }
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

TEST(Baseline, SumsThatOverflowOnTheirWayAreLeftToTheReference) {
  Tensor a = Tensor::zeros(DType::kFloat32, {256, 512}), b = Tensor::zeros(DType::kFloat32, {512, 256});
  std::fill_n(a.as<float>(), a.size(), 1e20f);
  for (int64_t i = 0; i < b.size(); ++i) b.as<float>()[i] = i < b.size() / 2 ? 1e19f : -1e19f;
  const Baseline baseline(
      read_model("graph(%a: float32[256,512], %b: float32[512,256]) -> (%y) {\n%y = MatMul(%a, %b)\n}"), 2);
  const std::vector<Datum> inputs{Datum(a), Datum(b)};
  const Tensor y = baseline.run(inputs)[0].tensor;
  for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.as<float>()[i], 0) << i;
}

TEST(Compile, EveryPassCanBeDisabled) {
  for (const Phase& phase : pipeline())
    for (const Pass& pass : phase.passes) {
      CompileOptions options;
      options.disabled_passes = {pass.name};
      EXPECT_NO_THROW(compile_text(kSmallNet, options)) << pass.name;
    }
}

TEST(Compile, ErrorsTellExpectedAndFound) {
  CompileOptions options;
  options.shapes["z"] = {1};
  EXPECT_EQ(message_of([&] { compile_text(kSmallNet, options); }),
            "--shapes: expected one of the inputs 'x', found 'z'");
  options.shapes = {{"x", {1, 4, 8, 8}}};
  EXPECT_EQ(message_of([&] { compile_text(kSmallNet, options); }),
            "input 'x' dimension 1: expected 3, found 4");
  options.shapes.clear();
  options.marks = {"nothing"};
  EXPECT_EQ(
      message_of([&] { compile_text(kSmallNet, options); }),
      "--mark: expected the name of a tensor in the model, or a pattern that matches some, found 'nothing'");
  options.marks.clear();
  options.backend = "tpu";
  EXPECT_EQ(message_of([&] { compile_text(kSmallNet, options); }),
            "--device: expected one of cpu, cuda, reference, found 'tpu'");
}

TEST(Compile, RunErrorsTellExpectedAndFound) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  ExecutionState state(compile_text(kSmallNet, options));
  std::vector<Datum> out(1);
  EXPECT_EQ(state.run(std::vector<Datum>{ramp({1, 4, 8, 8})}, out).message(),
            "input 'x' dimension 1: expected 3, found 4");
  EXPECT_EQ(state.run(std::vector<Datum>{ramp({3, 8, 8})}, out).message(),
            "input 'x': expected rank 4 float32[n,3,h,w], found [3,8,8]");
  EXPECT_EQ(state.run(std::vector<Datum>{Tensor::zeros(DType::kInt64, {1, 3, 8, 8})}, out).message(),
            "input 'x': expected float32, found int64");
  EXPECT_EQ(state.run({}, out).message(), "expected 1 inputs, found 0");
}

// The second backend proves the boundary: everything by the references, through the same plan and the same
// contexts.
TEST(Compile, ReferenceBackendRunsTheSamePlan) {
  CompileOptions options;
  options.backend = "reference";
  options.shapes["x"] = {1, 3, 4, 4};
  const auto engine = compile_text(kSmallNet, options);
  for (const StepRecord& s : engine->steps)
    for (const TacticChoice& c : s.choices) EXPECT_EQ(c.tactic_id, "reference.node");
  expect_matches_reference(kSmallNet, engine, {ramp({2, 3, 4, 6})});
}

}  // namespace
}  // namespace wootz::compile_tests
