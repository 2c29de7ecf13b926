// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/integer_products.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

const std::string kParameters = R"(%s: float32[] = constant 0.05
%z: uint8[] = constant 3
%t: float32[] = constant 0.02
%u: int8[] = constant 0
%v: float32[] = constant 0.1
%q: uint8[] = constant 7
)";

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const auto& node : graph.nodes()) n += node->op == op;
  return n;
}

std::unique_ptr<Graph> rewritten(const std::string& text, double tolerance) {
  const std::unique_ptr<Graph> original = read_graph(text);
  std::unique_ptr<Graph> graph = read_graph(text);
  PassContext context(test_target(), {});
  run_pass(*graph, integer_products(), context);
  run_pass(*graph, expand_quantize(), context);
  verify_graph(*graph, "the test");
  expect_same_results(*original, *graph, tolerance);
  return graph;
}

TEST(IntegerProducts, ConvolutionWithBiasPerChannel) {
  const auto graph = rewritten("graph(%x: float32[n,2,5,5]) -> (%y) {\n" + kParameters + R"(
%w: int8[3,2,1,1] = constant [1, -100, 50, 2, 25, -127]
%ws: float32[3] = constant [0.01, 0.02, 0.03]
%wz: int8[3] = constant [0, 0, 0]
%b: float32[3] = constant [0.5, -1, 2]
%xq = QuantizeLinear(%x, %s, %z)
%xd = DequantizeLinear(%xq, %s, %z)
%wd = DequantizeLinear(%w, %ws, %wz) {axis=0}
%c = Conv(%xd, %wd, %b)
%r = Relu(%c)
%yq = QuantizeLinear(%r, %v, %q)
%y = DequantizeLinear(%yq, %v, %q)
})",
                               0.02);
  EXPECT_EQ(count(*graph, "ConvInteger"), 1);
  EXPECT_EQ(count(*graph, "Conv"), 0);
  EXPECT_EQ(count(*graph, "QuantizeLinear") + count(*graph, "DequantizeLinear"), 0);
}

TEST(IntegerProducts, GemmAndTransposedWeights) {
  const auto graph = rewritten("graph(%x: float32[n,3]) -> (%y, %k) {\n" + kParameters + R"(
%w: int8[2,3] = constant [1, -100, 50, 2, 25, -127]
%xq = QuantizeLinear(%x, %s, %z)
%xd = DequantizeLinear(%xq, %s, %z)
%wd = DequantizeLinear(%w, %t, %u)
%b: float32[2] = constant [1, -1]
%y = Gemm(%xd, %wd, %b) {transB=1}
%wt = Transpose(%wd) {perm=[1, 0]}
%k = MatMul(%xd, %wt)
})",
                               1e-5);
  EXPECT_EQ(count(*graph, "MatMulInteger"), 1);  // both are the same product
  EXPECT_EQ(count(*graph, "Gemm") + count(*graph, "MatMul"), 0);
}

TEST(IntegerProducts, AsymmetricWeightsKeepTheirZeroPoint) {
  const auto graph = rewritten("graph(%x: float32[n,3]) -> (%y) {\n" + kParameters + R"(
%w: uint8[3,2] = constant [1, 200, 50, 2, 25, 127]
%xq = QuantizeLinear(%x, %s, %z)
%xd = DequantizeLinear(%xq, %s, %z)
%wd = DequantizeLinear(%w, %t, %q)
%y = MatMul(%xd, %wd)
})",
                               1e-5);
  EXPECT_EQ(count(*graph, "MatMulInteger"), 1);
}

TEST(IntegerProducts, MovementsMoveBytesOnlyUnderOneScale) {
  const auto text = [](const char* scale) {
    return "graph(%x: float32[n,3]) -> (%y) {\n" + kParameters + R"(
%xq = QuantizeLinear(%x, %s, %z)
%xd = DequantizeLinear(%xq, %s, %z)
%m = Transpose(%xd) {perm=[1, 0]}
%mq = QuantizeLinear(%m, )" +
           scale + R"(, %z)
%y = DequantizeLinear(%mq, )" +
           scale + ", %z)\n}";
  };
  EXPECT_EQ(count(*rewritten(text("%s"), 1e-6), "Round"), 1);
  EXPECT_EQ(count(*rewritten(text("%v"), 0.02), "Round"), 2);
}

TEST(IntegerProducts, WhatIsNotQuantizedStaysFloat) {
  const auto graph = rewritten("graph(%x: float32[n,3]) -> (%y) {\n" + kParameters + R"(
%w: int8[3,2] = constant [1, -100, 50, 2, 25, -127]
%wd = DequantizeLinear(%w, %t, %u)
%y = MatMul(%x, %wd)
})",
                               1e-6);
  EXPECT_EQ(count(*graph, "MatMul"), 1);
}

}  // namespace
}  // namespace wootz::pass_tests
