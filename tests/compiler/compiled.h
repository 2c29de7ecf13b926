// SPDX-License-Identifier: Apache-2.0
// Small models compiled in tests.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/verify_engine.h"
#include "engine/engine_file.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "runtime/execution_state.h"
#include "tests/fuzz/seed_corpus.h"

namespace wootz::compile_tests {

inline std::unique_ptr<Graph> read_model(const std::string& text) {
  std::unique_ptr<Graph> graph = graph_from_text(text);
  infer_graph(*graph);
  return graph;
}

inline std::shared_ptr<EngineData> compile_text(const std::string& text, CompileOptions options = {}) {
  ImportedModel model;
  model.graph = read_model(text);
  options.tune = false;
  options.allow_vendor_libraries = false;
  auto engine = compile(std::move(model), options);
  if (const std::string path = seed_path("engine", text); !path.empty()) save_engine(*engine, path);
  return engine;
}

/// Float32 values that differ from element to element, between -1 and 1.
inline Datum ramp(const Dims& dims) {
  Tensor t = Tensor::zeros(DType::kFloat32, dims);
  for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = static_cast<float>((i * 37 % 101) / 50.0 - 1);
  return t;
}

/// The engine's results lie within the type's bound of the references' on the model's text.
inline void expect_matches_reference(const std::string& text, const std::shared_ptr<EngineData>& engine,
                                     const std::vector<Datum>& inputs) {
  const std::unique_ptr<Graph> graph = read_model(text);
  const std::vector<Datum> want = evaluate_graph(*graph, inputs);
  ExecutionState state(engine);
  std::vector<Datum> got(want.size());
  const Status status = state.run(inputs, got);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const OutputError& e : compare_outputs(*graph, want, got, "test"))
    EXPECT_LE(e.relative, e.bound) << e.output;
}

/// Two convolutions whose results meet in a concat, a residual sum, pooling to one pixel and a product.
inline const std::string kSmallNet = R"(graph(%x: float32[n,3,h,w]) -> (%y) {
%w1: float32[4,3,1,1] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1]
%w2: float32[4,3,1,1] = constant [0.5, 1, -1, -0.25, 2, 0.5, 1, -1, 2, 0.125, -3, 1]
%w3: float32[2,8,1,1] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 0.5, 1, -1, 2]
%m: float32[2,3] = constant [1, 2, 3, -4, 5, -6]
%a = Conv(%x, %w1)
%b = Relu(%a)
%c = Conv(%x, %w2)
%d = Concat(%b, %c) {axis=1}
%e = Conv(%d, %w3)
%p = GlobalAveragePool(%e)
%s = Mul(%e, %p)
%g = GlobalAveragePool(%s)
%f = Flatten(%g) {axis=1}
%y = MatMul(%f, %m)
})";

}  // namespace wootz::compile_tests
