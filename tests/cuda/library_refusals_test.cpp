// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries that fail where they should serve: made, run, recorded, in the race or in the engine. On
// their stand-ins, which fail when asked.
#include <cstdlib>

#include "runtime/execution_state.h"

#include "tests/compiler/compiled.h"
#include "tests/cuda/cuda_case.h"

namespace wootz::compile_tests {
namespace {

constexpr const char *kCublasLt = "cuda.cublaslt.matmul", *kCudnn = "cuda.cudnn.conv";

const std::string kProducts = R"(graph(%x: float32[n,8]) -> (%y) {
%w: float32[8,8] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2]
%a = MatMul(%x, %w)
%s = Softmax(%a) {axis=1}
%b = MatMul(%s, %w)
%y = Softmax(%b) {axis=1}
})";

class CudaLibraries : public testing::Test {
 protected:
  void SetUp() override {
    const char* library = std::getenv("WOOTZ_CUBLASLT");
    if (!library || !std::string_view(library).ends_with("fake_cublaslt.so"))
      GTEST_SKIP() << "no stand-in for cuBLASLt that fails when asked";
  }
  void TearDown() override { unsetenv("WOOTZ_FAKE_REFUSES"); }

  static void refuse(const std::string& calls) { setenv("WOOTZ_FAKE_REFUSES", calls.c_str(), 1); }

  static std::shared_ptr<EngineData> compile_with(const std::string& text, const std::string& tactic,
                                                  std::map<std::string, Dims> shapes, bool verify = true) {
    ImportedModel model;
    model.graph = read_model(text);
    CompileOptions options;
    options.backend = "cuda:0";
    options.shapes = std::move(shapes);
    options.tactics = {tactic};
    options.verify = verify;
    return compile(std::move(model), options);
  }

  static size_t steps_by(const EngineData& engine, std::string_view tactic) {
    size_t count = 0;
    for (const StepRecord& s : engine.steps)
      count += !s.choices.empty() && s.choices[0].tactic_id == tactic ? 1 : 0;
    return count;
  }
  static bool is_said(const EngineData& engine, std::string_view text) {
    for (const RemarkRecord& r : engine.remarks)
      if (r.text.find(text) != std::string::npos) return true;
    return false;
  }
};

/// The arena of three rows ends at 64 bytes into 256: a library's workspace may not begin there.
TEST_F(CudaLibraries, ServeEnginesOfAnyArena) {
  for (int64_t rows : {1, 3, 5, 9}) {
    const auto engine = compile_with(kProducts, kCublasLt, {{"x", {rows, 8}}});
    EXPECT_EQ(steps_by(*engine, kCublasLt), 2u);
    ExecutionState state(engine);
    std::vector<Datum> out(1);
    ASSERT_TRUE(state.run(std::vector<Datum>{ramp({rows, 8})}, out).ok());
    EXPECT_TRUE(state.refusals().empty()) << state.refusals()[0].reason;
  }
}

TEST_F(CudaLibraries, LoseTheRaceWhereTheyFail) {
  for (const char* calls : {"make", "make:5", "run", "run:3", "record", "inside"}) {
    SCOPED_TRACE(calls);
    refuse(calls);
    const auto engine = compile_with(kProducts, kCublasLt, {{"x", {3, 8}}});
    EXPECT_EQ(steps_by(*engine, kCublasLt), 0u);
    expect_matches_reference(kProducts, engine, {ramp({3, 8})});
    expect_matches_reference(kProducts, engine, {ramp({7, 8})});
  }
}

/// However late in the build: in the race of the second product, in the engine, in its trials.
TEST_F(CudaLibraries, NeverEndABuild) {
  for (int calls = 10; calls < 400; calls += 27) {
    SCOPED_TRACE(calls);
    refuse("run:" + std::to_string(calls));
    const auto engine = compile_with(kProducts, kCublasLt, {{"x", {3, 8}}});
    expect_matches_reference(kProducts, engine, {ramp({3, 8})});
  }
}

TEST_F(CudaLibraries, AreReplacedInAnEngineThatWasBuilt) {
  const auto engine = compile_with(kProducts, kCublasLt, {{"x", {3, 8}}});
  ASSERT_EQ(steps_by(*engine, kCublasLt), 2u);
  for (const char* calls : {"make", "run", "run:1", "record"}) {
    SCOPED_TRACE(calls);
    refuse(calls);
    for (int64_t rows : {3, 4}) expect_matches_reference(kProducts, engine, {ramp({rows, 8})});
  }
  refuse("run");
  ExecutionState state(engine);
  std::vector<Datum> out(1);
  ASSERT_TRUE(state.run(std::vector<Datum>{ramp({3, 8})}, out).ok());
  ASSERT_EQ(state.refusals().size(), 2u);
  EXPECT_EQ(state.refusals()[0].tactic_id, kCublasLt);
  EXPECT_NE(state.refusals()[0].reason.find("cublasLtMatmul"), std::string::npos);
}

/// The race ran them, each with memory of its own.
TEST_F(CudaLibraries, ThatFailInTheEngineAreRacedWithoutAndNamed) {
  refuse("inside");
  const auto unseen = compile_with(kProducts, kCublasLt, {{"x", {3, 8}}}, false);
  EXPECT_EQ(steps_by(*unseen, kCublasLt), 2u);
  expect_matches_reference(kProducts, unseen, {ramp({3, 8})});
  const auto engine = compile_with(kProducts, kCublasLt, {{"x", {3, 8}}});
  EXPECT_EQ(steps_by(*engine, kCublasLt), 0u);
  EXPECT_TRUE(is_said(*engine, "cuda.cublaslt.matmul is left out of this engine: cublasLtMatmul"));
  for (const StepRecord& s : engine->steps)
    EXPECT_FALSE(!s.choices.empty() && s.choices[0].tactic_id.starts_with("reference."));
}

TEST_F(CudaLibraries, ConvolutionsOfCudnnToo) {
  const char* library = std::getenv("WOOTZ_CUDNN");
  if (!library || !std::string_view(library).ends_with("fake_cudnn.so"))
    GTEST_SKIP() << "no stand-in for cuDNN";
  const std::string text = R"(graph(%x: float16[n,8,6,6]) -> (%y) {
%w: float16[8,8,1,1] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2, 1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, -1, 0.5, 2]
%a = Conv(%x, %w)
%y = Relu(%a)
})";
  const Datum x(random_tensor(DType::kFloat16, {2, 8, 6, 6}, 3));
  const auto engine = compile_with(text, kCudnn, {{"x", {2, 8, 6, 6}}});
  ASSERT_EQ(steps_by(*engine, kCudnn), 1u);
  for (const char* calls : {"make", "make:9", "run", "run:2", "record"}) {
    SCOPED_TRACE(calls);
    refuse(calls);
    expect_matches_reference(text, engine, {x});
    const auto other = compile_with(text, kCudnn, {{"x", {2, 8, 6, 6}}});
    expect_matches_reference(text, other, {x});
  }
}

}  // namespace
}  // namespace wootz::compile_tests
