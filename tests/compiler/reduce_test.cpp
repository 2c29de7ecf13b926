// SPDX-License-Identifier: Apache-2.0
#include <wootz/reduce.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "export/onnx/write_model.h"
#include "import/onnx/import.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

/// x goes through a convolution, Relu, a mean, a product by a weight of 16 numbers and Tanh.
std::string model_file() {
  std::string weights, conv;
  for (int i = 0; i < 16; ++i) weights += (i ? ", " : "") + std::to_string(i + 100);
  for (int i = 0; i < 48; ++i) conv += (i ? ", " : "") + std::to_string(i % 7);
  const std::string text = "graph(%x: float32[n,3,h,w]) -> (%y, %z) {\n%w: float32[16,3,1,1] = constant [" +
                           conv + "]\n%m: float32[1,16,1,1] = constant [" + weights +
                           "]\n%a = Conv(%x, %w) {pads=[0, 0, 0, 0], strides=[1, 1]}\n%b = Relu(%a)\n"
                           "%c = GlobalAveragePool(%b)\n%d = Mul(%c, %m)\n%y = Tanh(%d)\n%z = Neg(%b)\n}";
  const auto path =
      std::filesystem::temp_directory_path() / ("wootz_reduce_" + std::to_string(getpid()) + ".onnx");
  export_onnx_file(*read_model(text), path);
  return path.string();
}

std::shared_ptr<Graph> read(const std::string& bytes) {
  return import_onnx_bytes(std::as_bytes(std::span(bytes))).graph;
}

bool has(const Graph& graph, std::string_view op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& n) { return n->op == op; });
}

ReducedModel reduced(std::function<bool(const Graph&)> fails, bool keep_weights = false) {
  ReduceOptions options;
  options.still_fails = [&](const std::string& bytes) { return fails(*read(bytes)); };
  options.keep_weights = keep_weights;
  const std::string path = model_file();
  const ReducedModel result = reduce(path, options);
  std::filesystem::remove(path);
  return result;
}

TEST(Reduce, OneNodeWithGeneratedWeights) {
  const ReducedModel r = reduced([](const Graph& g) { return has(g, "Mul"); });
  EXPECT_EQ(r.nodes_before, 6u);
  EXPECT_EQ(r.nodes, 1u);
  EXPECT_FALSE(r.has_weights_of_model);
  const auto graph = read(r.onnx_bytes);
  ASSERT_EQ(graph->node_count(), 1u);
  const Value* weight = (*graph->nodes().begin())->input(1);
  ASSERT_TRUE(weight->is_constant());
  const auto numbers = weight->constant->to_doubles();
  EXPECT_EQ(std::count_if(numbers.begin(), numbers.end(), [](double x) { return x == std::round(x); }), 0);
  EXPECT_GT(*std::min_element(numbers.begin(), numbers.end()), 0);  // like those of the model
}

TEST(Reduce, NodesThatOnlyFailTogetherStayTogether) {
  const ReducedModel r = reduced([](const Graph& g) { return has(g, "Conv") && has(g, "Tanh"); });
  EXPECT_EQ(r.nodes, 2u);
  const auto graph = read(r.onnx_bytes);
  EXPECT_TRUE(has(*graph, "Conv") && has(*graph, "Tanh"));
  for (const Value* input : graph->inputs())  // what was cut has the dims that a run had, made smaller
    EXPECT_TRUE(input->type.has_static_shape()) << input->name;
}

TEST(Reduce, InputsShrinkAsFarAsItFails) {
  const ReducedModel r = reduced([](const Graph& g) {
    return has(g, "Relu") && g.inputs()[0]->type.has_static_shape() &&
           (*g.inputs()[0]->type.shape)[2].value() >= 5;
  });
  const auto graph = read(r.onnx_bytes);
  EXPECT_EQ((*graph->inputs()[0]->type.shape)[0].value(), 1);
  EXPECT_LT((*graph->inputs()[0]->type.shape)[2].value(), 10);
  EXPECT_EQ((*graph->inputs()[0]->type.shape)[3].value(), 1);
}

TEST(Reduce, WeightsStayWhereOnlyTheyFail) {
  const auto is_original = [](const Graph& g) {
    for (const auto& v : g.values())
      if (v->is_constant() && v->constant->size() == 16 && v->constant->to_doubles()[3] == 103) return true;
    return false;
  };
  EXPECT_TRUE(reduced(is_original).has_weights_of_model);
  EXPECT_FALSE(reduced(is_original, true).has_weights_of_model);  // as asked
}

TEST(Reduce, AModelThatPassesIsAnError) {
  try {
    reduced([](const Graph&) { return false; });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
  }
}

}  // namespace
}  // namespace wootz::compile_tests
