// SPDX-License-Identifier: Apache-2.0
// Whole engines on a GPU, or on the stand-in for one: copies, steps on the host, recordings, the caller's
// memory and stream.
#include <dlfcn.h>

#include "runtime/execution_state.h"
#include "runtime/self_tests.h"

#include "tests/compiler/compiled.h"
#include "tests/cuda/cuda_case.h"

namespace wootz::compile_tests {
namespace {

/// The registry that engines look in has all backends in this program.
const DeviceBackend& gpu() { return *as_device(*find_backend(BackendRegistry::global(), "cuda:0")); }

std::shared_ptr<EngineData> compile_for_gpu(const std::string& text, std::map<std::string, Dims> shapes,
                                            bool tune = false) {
  ImportedModel model;
  model.graph = read_model(text);
  CompileOptions options;
  options.backend = "cuda:0";
  options.shapes = std::move(shapes);
  options.tune = tune;
  return compile(std::move(model), options);
}

class CudaRuntime : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu() || !has_nvrtc()) GTEST_SKIP() << "no GPU or no NVRTC here";
  }
};

const std::string kChain = R"(graph(%x: float32[n,3], %z: float32[n,3]) -> (%y) {
%a = Add(%x, %z)
%b = Sigmoid(%a)
%c = Transpose(%b) {perm=[1,0]}
%d = Exp(%c)
%e = Softmax(%d) {axis=0}
%y = Mul(%e, %d)
})";

TEST_F(CudaRuntime, RunsAtSeveralShapes) {
  const auto engine = compile_for_gpu(kChain, {{"x", {4, 3}}, {"z", {4, 3}}});
  for (int64_t n : {4, 1, 33}) expect_matches_reference(kChain, engine, {ramp({n, 3}), ramp({n, 3})});
}

TEST_F(CudaRuntime, SelfTestsRunOnTheDevice) {
  const auto engine = compile_for_gpu(kChain, {{"x", {4, 3}}, {"z", {4, 3}}});
  ASSERT_FALSE(engine->self_tests.empty());
  EXPECT_NO_THROW(run_self_tests(*engine));
  engine->self_tests[0].expected[0][0] += 1;
  try {
    run_self_tests(*engine);
    FAIL() << "a wrong element was not seen";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidEngine);
    EXPECT_NE(e.message().find(" by cuda."), std::string::npos) << e.message();
  }
}

TEST_F(CudaRuntime, ConcatAndConvolutionByWhateverServes) {
  const auto engine = compile_for_gpu(kSmallNet, {{"x", {1, 3, 8, 8}}});
  for (const Dims& dims : {Dims{1, 3, 8, 8}, Dims{2, 3, 5, 7}, Dims{1, 3, 1, 1}})
    expect_matches_reference(kSmallNet, engine, {ramp(dims)});
}

TEST_F(CudaRuntime, SizesThatOnlyTheRunTells) {
  const std::string text = R"(graph(%x: float32[n]) -> (%y, %k) {
%z: float32[] = constant 0
%s = Sigmoid(%x)
%t0 = Neg(%s)
%m = Greater(%x, %z)
%i = NonZero(%m)
%t = Transpose(%i)
%g = GatherND(%t0, %t)
%y = Relu(%g)
%k = Shape(%g)
})";
  const auto engine = compile_for_gpu(text, {{"x", {10}}});
  expect_matches_reference(text, engine, {ramp({10})});
  expect_matches_reference(text, engine, {ramp({33})});
}

TEST_F(CudaRuntime, TunedEnginesMatchToo) {
  const auto engine = compile_for_gpu(kChain, {{"x", {64, 3}}, {"z", {64, 3}}}, true);
  expect_matches_reference(kChain, engine, {ramp({64, 3}), ramp({64, 3})});
  bool timed = false;
  for (const StepRecord& s : engine->steps) timed = timed || s.time_us > 0;
  EXPECT_TRUE(timed);
}

// Two regions, one after another: something to record.
const std::string kTwoSteps = R"(graph(%x: float32[n]) -> (%y, %b) {
%b = Exp(%x)
%n = Neg(%x)
%y = Tanh(%n)
})";

TEST_F(CudaRuntime, ReplaysWithNewData) {
  const auto engine = compile_for_gpu(kTwoSteps, {{"x", {100}}});
  ASSERT_EQ(engine->steps.size(), 2u);
  for (const StepRecord& s : engine->steps) ASSERT_TRUE(s.choices.at(0).tactic_id.starts_with("cuda."));
  ExecutionState state(engine);
  const std::unique_ptr<Graph> graph = read_model(kTwoSteps);
  for (float factor : {1.0f, 0.5f, -2.0f}) {
    Datum x = ramp({100});
    for (int64_t i = 0; i < 100; ++i) x.tensor.as<float>()[i] *= factor;
    const std::vector<Datum> inputs{x};
    std::vector<Datum> got(2);
    const Status status = state.run(inputs, got);
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<Datum> want = evaluate_graph(*graph, inputs);
    for (const OutputError& e : compare_outputs(*graph, want, got, "test")) EXPECT_LE(e.relative, e.bound);
  }
}

TEST_F(CudaRuntime, TakesTheCallersDeviceMemoryAndStream) {
  const auto engine = compile_for_gpu(kTwoSteps, {{"x", {100}}});
  const std::unique_ptr<Graph> graph = read_model(kTwoSteps);
  const Datum x = ramp({100});
  const std::vector<Datum> want = evaluate_graph(*graph, std::vector<Datum>{x});
  const std::unique_ptr<Stream> stream = gpu().make_stream(1);
  auto& device = static_cast<DeviceStream&>(*stream);
  device.begin_run();
  ExecutionState state(engine);
  for (int round = 0; round < 3; ++round) {  // other buffers each time: recordings are made anew
    std::vector<void*> allocated, memory;
    const size_t skew = round == 2 ? 4 : 0;  // kernels do not take memory that begins so: it is copied
    for (int i = 0; i < 3; ++i) {
      allocated.push_back(gpu().allocate(400 + skew));
      memory.push_back(static_cast<char*>(allocated.back()) + skew);
    }
    device.upload(memory[0], x.tensor.data(), 400);
    device.synchronize();
    const std::vector<Datum> inputs{Datum(Tensor::view(DType::kFloat32, {100}, memory[0], nullptr))};
    std::vector<Datum> outputs;
    for (int i = 1; i < 3; ++i)
      outputs.emplace_back(Tensor::view(DType::kFloat32, {100}, memory[static_cast<size_t>(i)], nullptr));
    const Status status = state.run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<Datum> got;
    for (const Datum& out : outputs) {
      EXPECT_TRUE(gpu().is_device_memory(out.tensor.data()));
      Tensor t = Tensor::zeros(DType::kFloat32, {100});
      device.download(t.data(), out.tensor.data(), 400);
      device.synchronize();
      got.emplace_back(std::move(t));
    }
    for (const OutputError& e : compare_outputs(*graph, want, got, "test")) EXPECT_LE(e.relative, e.bound);
    for (void* p : allocated) gpu().release(p);
  }
}

/// Attention whose queries are a view that begins two bytes into sixteen: the copy engine does not take it.
TEST_F(CudaRuntime, ViewsThatBeginAnywhere) {
  const std::string text =
      R"(graph(%x: float16[1,2,40,80], %k: float16[1,2,40,64], %v: float16[1,2,40,64]) -> (%y) {
%from: int64[1] = constant [1]
%to: int64[1] = constant [65]
%axis: int64[1] = constant [3]
%a = Sigmoid(%x)
%q = Slice(%a, %from, %to, %axis)
%y = wootz::Attention(%q, %k, %v) {is_causal=0, scale=0.125}
})";
  const auto engine = compile_for_gpu(text, {});
  const auto half = [](const Dims& dims, int seed) {
    return Datum(random_tensor(DType::kFloat16, dims, seed));
  };
  expect_matches_reference(text, engine,
                           {half({1, 2, 40, 80}, 1), half({1, 2, 40, 64}, 2), half({1, 2, 40, 64}, 3)});
}

/// A step of a decoder: every step has a kernel of the device, and the cache comes back from it.
TEST_F(CudaRuntime, AttentionWithACache) {
  const std::string texts[] = {
      R"(graph(%q: float16[2,4,1,16], %k: float16[2,2,1,16], %v: float16[2,2,1,16], %pk: float16[2,2,20,16], %pv: float16[2,2,20,16]) -> (%y, %ok, %ov) {
%y, %ok, %ov = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1}
})",
      R"(graph(%q: float16[2,3,64], %k: float16[2,3,32], %v: float16[2,3,32], %pk: float16[2,2,20,16], %pv: float16[2,2,20,16], %c: float16[40,8], %s: float16[40,8]) -> (%y, %ok, %ov) {
%n: int32[2] = constant [22, 17]
%t: int32[] = constant 23
%y, %ok, %ov = com.microsoft::GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t, %c, %s) {do_rotary=1, kv_num_heads=2, num_heads=4, local_window_size=15}
})"};
  for (const std::string& text : texts) {
    const auto engine = compile_for_gpu(text, {});
    for (const StepRecord& s : engine->steps)
      EXPECT_FALSE(!s.choices.empty() && s.choices[0].tactic_id.starts_with("reference.")) << text;
    std::vector<Datum> inputs;
    const std::unique_ptr<Graph> model = read_model(text);
    for (const Value* v : model->inputs()) {
      Dims dims;
      for (const Dim& d : *v->type.shape) dims.push_back(d.value());
      inputs.emplace_back(random_tensor(DType::kFloat16, dims, 3 + static_cast<int>(inputs.size())));
    }
    expect_matches_reference(text, engine, inputs);
  }
}

TEST_F(CudaRuntime, MeasuresStepsAndPhases) {
  const auto engine = compile_for_gpu(kChain, {{"x", {64, 3}}, {"z", {64, 3}}});
  ExecutionState state(engine);
  std::vector<StepSpan> times(engine->steps.size());
  std::vector<Datum> out(1);
  const std::vector<Datum> in{ramp({64, 3}), ramp({64, 3})};
  ASSERT_TRUE(state.run(in, out, times).ok());
  double sum = 0;
  for (const StepSpan& t : times) sum += t.time_us;
  EXPECT_GT(sum, 0);
  state.measure(true);
  ASSERT_TRUE(state.run(in, out).ok());
  const DeviceTimes phases = state.device_times();
  EXPECT_GT(phases.run_us, 0);
  EXPECT_GT(phases.upload_us, 0);
  EXPECT_GT(phases.download_us, 0);
}

/// By CUPTI and NVTX: on a GPU where they are, or on their stand-in.
TEST_F(CudaRuntime, NotesKernelsCopiesAndRanges) {
  const auto engine = compile_for_gpu(kChain, {{"x", {64, 3}}, {"z", {64, 3}}});
  ExecutionState state(engine);
  std::vector<StepSpan> spans(engine->steps.size());
  std::vector<Datum> out(1);
  const std::vector<Datum> in{ramp({64, 3}), ramp({64, 3})};
  ASSERT_TRUE(state.run(in, out, spans).ok());
  if (const std::string missing = state.begin_activity(); !missing.empty()) GTEST_SKIP() << missing;
  EXPECT_NE(state.begin_activity(), "");  // one at a time
  ASSERT_TRUE(state.run(in, out, spans).ok());
  std::map<uint64_t, double> kernels;
  uint64_t up = 0, down = 0;
  for (const DeviceActivity& a : state.end_activity()) {
    if (a.kind == DeviceActivity::Kind::kKernel) kernels[a.tag] += a.time_us;
    if (a.kind == DeviceActivity::Kind::kUpload) up += a.bytes;
    if (a.kind == DeviceActivity::Kind::kDownload) down += a.bytes;
  }
  size_t launched = 0;
  for (size_t i = 0; i < engine->steps.size(); ++i) {
    if (!kernels.contains(i + 1)) continue;
    ++launched;
    EXPECT_GT(kernels[i + 1], 0);
    EXPECT_LE(kernels[i + 1], 1.5 * spans[i].time_us + 5) << "step " << i;
  }
  EXPECT_GE(launched, 2u);
  EXPECT_FALSE(kernels.contains(0)) << "a kernel of no step";
  EXPECT_EQ(up, 2 * 64 * 3 * sizeof(float));
  EXPECT_EQ(down, 64 * 3 * sizeof(float));

  const char* injected = std::getenv("NVTX_INJECTION64_PATH");
  void* const library = injected ? dlopen(injected, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  const auto ranges = reinterpret_cast<const char* (*)()>(library ? dlsym(library, "fake_ranges") : nullptr);
  if (!ranges) return;
  const std::string heard = ranges();
  EXPECT_NE(heard.find("wootz run{"), std::string::npos) << heard;
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '{'), std::count(heard.begin(), heard.end(), '}'));
}

/// The engine's result on that sample, among those of other samples and shapes; null where there is none.
const OutputError* verified_on(const EngineData& engine, std::string_view sample) {
  for (const OutputError& e : engine.verification)
    if (e.sample == sample) return &e;
  return nullptr;
}

TEST_F(CudaRuntime, LargeBatchesAreVerifiedByRepeatedRows) {
  // The softmax runs over the batch: copies change the result.
  EXPECT_EQ(verified_on(*compile_for_gpu(kChain, {{"x", {64, 3}}, {"z", {64, 3}}}), "random, repeated"),
            nullptr);
  const auto rows = compile_for_gpu("graph(%x: float32[n,3]) -> (%y) {\n%y = Exp(%x)\n}", {{"x", {64, 3}}});
  const OutputError* const repeated = verified_on(*rows, "random, repeated");
  ASSERT_NE(repeated, nullptr);
  EXPECT_LE(repeated->relative, repeated->bound);
  const auto mixed =
      compile_for_gpu("graph(%x: float32[n,3]) -> (%y) {\n%y = Softmax(%x) {axis=0}\n}", {{"x", {64, 3}}});
  EXPECT_GE(mixed->verification.size(), 2u);  // the batch itself was verified, too
}

TEST_F(CudaRuntime, LargeRegionsAreCheckedByAFewRowsInManyPlaces) {
  const std::string text = R"(graph(%x: float32[n,64,256]) -> (%y) {
%a = Transpose(%x) {perm=[0,2,1]}
%b = Relu(%a)
%y = Softmax(%b) {axis=1}
})";
  const auto engine = compile_for_gpu(text, {{"x", {64, 64, 256}}}, true);
  for (const StepRecord& s : engine->steps) {
    if (s.choices.empty()) continue;
    EXPECT_FALSE(s.choices[0].tactic_id.starts_with("reference.")) << s.choices[0].tactic_id;
  }
  expect_matches_reference(text, engine, {ramp({64, 64, 256})});
}

TEST_F(CudaRuntime, RemarksNameWhatRunsOnTheHost) {
  const auto engine = compile_for_gpu("graph(%x: float32[n]) -> (%y) {\n%y = NonZero(%x)\n}", {{"x", {9}}});
  bool said = false;
  for (const RemarkRecord& r : engine->remarks)
    said = said || r.text.find("on the host") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(CudaTarget, BuildsWithoutTheGpu) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  ImportedModel model;
  model.graph = read_model(kTwoSteps);
  CompileOptions options;
  options.backend = "cuda:sm_80";
  options.shapes = {{"x", {100}}};
  const auto engine = compile(std::move(model), options);
  bool said = false;
  for (const RemarkRecord& r : engine->remarks)
    said = said || r.text.find("not verified") != std::string::npos;
  EXPECT_TRUE(said);
  bool on_gpu = false;
  for (const StepRecord& s : engine->steps)
    on_gpu = on_gpu || (!s.choices.empty() && s.choices[0].tactic_id.starts_with("cuda."));
  EXPECT_TRUE(on_gpu);
}

TEST(CudaTarget, UnknownArchitecturesAreNamed) {
  try {
    cuda_backend("cuda:sm_42");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("sm_90a"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace wootz::compile_tests
