// SPDX-License-Identifier: Apache-2.0
#include "runtime/dynamic_kernels.h"

#include "device/region.h"
#include "memory/bind_shapes.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

/// As many rows as only the run can tell, and a shape that an input gives.
const char* const kModel = R"(graph(%x: float32[n,64], %c: bool[n], %k: int64[2]) -> (%y, %z) {
%r = Compress(%x, %c) {axis=0}
%s = Softmax(%r)
%y = Tanh(%s)
%z = Reshape(%y, %k)
})";

Datum flags(int64_t n, int64_t every) {
  Tensor t = Tensor::zeros(DType::kBool, {n});
  for (int64_t i = 0; i < n; ++i) t.as<bool>()[i] = i % every == 0;
  return Datum(std::move(t));
}

std::vector<Datum> inputs_of(int64_t n, int64_t every) {
  return {ramp({n, 64}), flags(n, every), Datum(Tensor::int64s(std::vector<int64_t>{32, -1}))};
}

std::shared_ptr<EngineData> engine() {
  CompileOptions options;
  options.shapes = {{"x", {24, 64}}, {"c", {24}}};
  options.verify = false;  // random sizes do not fit
  return compile_text(kModel, options);
}

TEST(DynamicKernels, GiveTheReferencesResultsAtEverySize) {
  const auto e = engine();
  ExecutionState state(e);
  const std::unique_ptr<Graph> graph = read_model(kModel);
  for (const int64_t every : {1, 3, 2, 1, 24, 3}) {
    const std::vector<Datum> inputs = inputs_of(24, every), want = evaluate_graph(*graph, inputs);
    std::vector<Datum> got(want.size());
    state.run(inputs, got).throw_if_failed();
    for (const OutputError& error : compare_outputs(*graph, want, got, "test"))
      EXPECT_LE(error.relative, error.bound) << error.output << " " << every;
  }
}

/// A step of kModel by its operator, on made-up rows.
class OneStep : public testing::Test {
 protected:
  OneStep()
      : engine_(engine()),
        plan_(plan_of(*engine_, bind_shapes(*engine_->graph, std::vector<Dims>{{24, 64}, {24}, {2}}))),
        backend_(*find_backend(BackendRegistry::global(), "cpu")),
        stream_(backend_.make_stream(1)),
        kernels_(*engine_, plan_, backend_, 1) {}

  std::optional<std::vector<Datum>> run(const char* op, std::vector<Datum> inputs) {
    std::vector<const Datum*> pointers;
    for (const Datum& d : inputs) pointers.push_back(&d);
    size_t step = 0;
    for (const auto& node : engine_->graph->nodes()) {
      if (is_region(*node) && region_body(*node).nodes().front()->is(op))
        return kernels_.run(step, *node, pointers, *stream_);
      ++step;
    }
    ADD_FAILURE() << "no step with " << op;
    return std::nullopt;
  }

  std::shared_ptr<EngineData> engine_;
  ShapePlan plan_;
  const Backend& backend_;
  std::unique_ptr<Stream> stream_;
  DynamicKernels kernels_;
};

TEST_F(OneStep, HasAKernelForEachSize) {
  for (int64_t rows = 8; rows < 8 + 2 * int64_t(DynamicKernels::kMostOfStep); ++rows) {
    const auto out = run("Softmax", {ramp({rows, 64})});
    ASSERT_TRUE(out.has_value()) << rows;
    EXPECT_EQ((*out)[0].tensor.dims(), (Dims{rows, 64}));
  }
}

TEST_F(OneStep, LeavesSmallOperandsAndElementsThatDecideToTheReference) {
  EXPECT_FALSE(run("Softmax", {ramp({2, 64})}).has_value());
  EXPECT_FALSE(run("Compress", {ramp({24, 64}), flags(24, 2)}).has_value());
}

TEST_F(OneStep, ReadsSizesFromIntegers) {
  for (const auto& [sizes, dims] : {std::pair(std::vector<int64_t>{32, -1}, Dims{32, 48}),
                                    std::pair(std::vector<int64_t>{-1, 12}, Dims{128, 12})}) {
    const auto out = run("Reshape", {ramp({24, 64}), Datum(Tensor::int64s(sizes))});
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ((*out)[0].tensor.dims(), dims);
  }
}

}  // namespace
}  // namespace wootz::compile_tests
