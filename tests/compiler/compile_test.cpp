// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/pipeline.h"
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
  EXPECT_EQ(message_of([&] { compile_text(kSmallNet, options); }),
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
