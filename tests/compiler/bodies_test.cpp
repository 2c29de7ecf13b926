// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan whose bodies run by kernels of their own.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine/bodies.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

/// A product with captured weights in one branch, a sum over captured x in the other, and an If in an If.
const char* const kBranches = R"(graph(%x: float32[n,3], %c: bool[], %d: bool[]) -> (%y) {
%w: float32[3,2] = constant [1, -2, 3, -4, 5, -6]
%a = Relu(%x)
%b = If(%c) {then_branch=graph() -> (%t) {
  %p = MatMul(%a, %w)
  %t = Tanh(%p)
}, else_branch=graph() -> (%e) {
  %e = If(%d) {then_branch=graph() -> (%f) { %f = Sigmoid(%a) }, else_branch=graph() -> (%g) { %g = Concat(%a, %x) {axis=1} }}
}}
%y = Relu(%b)
})";

/// Weights carried through the loop as they are, a state, and rows stacked.
const char* const kSteps = R"(graph(%x: float32[n,3], %m: int64[]) -> (%last, %rows) {
%w: float32[3,3] = constant [0.5, -0.25, 1, -1, 0.125, 0.75, -0.5, 1, 0.25]
%yes: bool[] = constant [true]
%last, %v, %rows = Loop(%m, %yes, %x, %w) {body=graph(%i: int64[], %go: bool[], %s: float32[n,3], %k: float32[3,3]) -> (%on, %t, %k, %r) {
  %on = Identity(%go)
  %p = MatMul(%s, %k)
  %t = Tanh(%p)
  %r = Relu(%t)
}}
})";

Datum boolean(bool value) {
  Tensor t = Tensor::zeros(DType::kBool, {});
  *t.as<bool>() = value;
  return Datum(std::move(t));
}

/// Steps of all bodies that have a kernel which is not the reference.
size_t kernels_in_bodies(const EngineData& engine) {
  size_t count = 0;
  for (const StepRecord& s : engine.steps)
    for (const auto& body : s.bodies) {
      if (!body) continue;
      count += kernels_in_bodies(*body);
      for (const StepRecord& inner : body->steps)
        count += !inner.choices.empty() && !inner.choices[0].tactic_id.starts_with("reference.");
    }
  return count;
}

TEST(Bodies, BranchesRunByKernelsAtEveryShape) {
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}};
  const auto engine = compile_text(kBranches, options);
  EXPECT_EQ(kernels_in_bodies(*engine), 3u);  // the product with Tanh, Sigmoid, Concat
  for (const int64_t n : {2, 1, 7})
    for (const bool c : {true, false})
      for (const bool d : {true, false})
        expect_matches_reference(kBranches, engine, {ramp({n, 3}), boolean(c), boolean(d)});
}

TEST(Bodies, LoopsRunByKernels) {
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}};
  const auto engine = compile_text(kSteps, options);
  EXPECT_GE(kernels_in_bodies(*engine), 2u);
  for (const int64_t trips : {5, 1, 0})
    expect_matches_reference(kSteps, engine, {ramp({4, 3}), Datum(Tensor::scalar_int64(trips))});
}

/// One context, whose bodies see other sizes and other branches between.
TEST(Bodies, AContextRunsThemAgain) {
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}};
  ExecutionState state(compile_text(kBranches, options));
  const auto run = [&](int64_t n, bool c) {
    std::vector<Datum> out(1);
    state.run(std::vector<Datum>{ramp({n, 3}), boolean(c), boolean(false)}, out).throw_if_failed();
    return out[0].tensor;
  };
  const Tensor first = run(2, true), other = run(5, false);
  EXPECT_EQ(other.dims(), (Dims{5, 6}));
  EXPECT_TRUE(first.same_bits(run(2, true)));
  EXPECT_TRUE(other.same_bits(run(5, false)));
}

/// A sequence out of a body, and out of a graph, holds what it was given after the next run too.
TEST(Bodies, SequencesKeepTheirElements) {
  const std::string text = R"(graph(%x: float32[n,3], %c: bool[]) -> (%y, %z) {
%y = If(%c) {then_branch=graph() -> (%t) {
  %a = Relu(%x)
  %b = Tanh(%x)
  %t = SequenceConstruct(%a, %b)
}, else_branch=graph() -> (%e) {
  %f = Sigmoid(%x)
  %e = SequenceConstruct(%f)
}}
%g = Softmax(%x)
%z = SequenceConstruct(%g, %x)
})";
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}};
  ExecutionState state(compile_text(text, options));
  const std::unique_ptr<Graph> graph = read_model(text);
  std::vector<std::vector<Datum>> found, expected;
  for (const int64_t n : {4, 2, 7}) {
    std::vector<Datum> inputs = {ramp({n, 3}), boolean(n != 2)};
    expected.push_back(evaluate_graph(*graph, inputs));
    state.run(inputs, found.emplace_back(2)).throw_if_failed();
    std::fill_n(inputs[0].tensor.as<float>(), inputs[0].tensor.size(), 9.0f);
  }
  for (size_t run = 0; run < found.size(); ++run)
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(found[run][i].elements.size(), expected[run][i].elements.size());
      for (size_t k = 0; k < found[run][i].elements.size(); ++k) {
        const Tensor &got = found[run][i].elements[k].tensor, &want = expected[run][i].elements[k].tensor;
        ASSERT_EQ(got.dims(), want.dims());
        if (i == 1 && k == 1) continue;  // the caller's own memory, which holds something else now
        for (int64_t at = 0; at < want.size(); ++at)
          EXPECT_NEAR(got.as<float>()[at], want.as<float>()[at], 1e-5);
      }
    }
}

TEST(Bodies, AreStoredInTheEngine) {
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}};
  const auto engine = compile_text(kBranches, options);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("wootz_bodies_" + std::to_string(getpid()) + ".wtz"))
          .string();
  save_engine(*engine, path);
  const auto loaded = load_engine(path, true);
  std::filesystem::remove(path);
  EXPECT_EQ(kernels_in_bodies(*loaded), kernels_in_bodies(*engine));
  expect_matches_reference(kBranches, loaded, {ramp({3, 3}), boolean(true), boolean(false)});
  expect_matches_reference(kBranches, loaded, {ramp({3, 3}), boolean(false), boolean(false)});
}

/// Inputs without a known rank leave the body to the references, and a remark says so.
TEST(Bodies, UnknownRanksStayWithTheReferences) {
  const std::string text = R"(graph(%x: float32[n,3], %s: int64[r], %c: bool[]) -> (%y) {
%a = Reshape(%x, %s)
%y = If(%c) {then_branch=graph() -> (%t) { %t = Relu(%a) }, else_branch=graph() -> (%e) { %e = Tanh(%a) }}
})";
  CompileOptions options;
  options.shapes = {{"x", {2, 3}}, {"s", {2}}};
  options.verify = false;  // random sizes do not fit
  const auto engine = compile_text(text, options);
  EXPECT_TRUE(std::any_of(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
    return r.text.find("by the references: ranks or types") != std::string::npos;
  }));
  expect_matches_reference(text, engine,
                           {ramp({2, 3}), Datum(Tensor::int64s(std::vector<int64_t>{3, 2})), boolean(true)});
}

}  // namespace
}  // namespace wootz::compile_tests
