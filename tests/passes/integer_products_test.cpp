// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/integer_products.h"

#include "passes/precision/quantized_value.h"
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

TargetTraits gpu() {
  TargetTraits target = test_target();
  target.name = "cuda";
  target.gated_types = {DType::kFloat16};  // Hopper
  return target;
}

std::unique_ptr<Graph> rewritten(const std::string& text, double tolerance,
                                 const TargetTraits& target = test_target()) {
  const std::unique_ptr<Graph> original = read_graph(text);
  std::unique_ptr<Graph> graph = read_graph(text);
  PassContext context(target, {});
  run_pass(*graph, integer_products(), context);
  run_pass(*graph, expand_quantize(), context);
  verify_graph(*graph, "the test");
  expect_same_results(*original, *graph, tolerance);
  return graph;
}

TEST(IntegerProducts, ProductsOfFloat8OnGpusThatMultiplyThem) {
  const std::string text = R"(graph(%x: float32[n,16]) -> (%y) {
%s: float32[] = constant 0.05
%z: float8e4m3fn[] = constant 0
%w: float8e4m3fn[16,2] = constant splat 0.5
%ws: float32[2] = constant [0.01, 0.02]
%wz: float8e4m3fn[2] = constant [0, 0]
%xq = QuantizeLinear(%x, %s, %z)
%xd = DequantizeLinear(%xq, %s, %z)
%wd = DequantizeLinear(%w, %ws, %wz) {axis=1}
%y = MatMul(%xd, %wd)
})";
  const auto graph = rewritten(text, 1e-5, gpu());
  EXPECT_EQ(count(*graph, "MatMulFloat8"), 1);
  EXPECT_EQ(count(*graph, "QuantizeLinear") + count(*graph, "DequantizeLinear"), 0);
  TargetTraits older = gpu();
  older.gated_types.clear();
  for (const TargetTraits& target : {test_target(), older}) {
    const auto floats = rewritten(text, 1e-5, target);
    EXPECT_EQ(count(*floats, "MatMulFloat8"), 0);
    EXPECT_EQ(count(*floats, "MatMul"), 1);
  }
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

/// Sixteen channels in, a zero point of 3 or of 0, and a pool in front of the second quantization.
std::string pooled(const char* zero, const char* pads) {
  return "graph(%x: float32[n,16,6,6]) -> (%y) {\n" + kParameters + R"(
%w: int8[2,16,1,1] = constant [1, -10, 50, 2, 25, -127, 3, 8, 0, 1, 2, 3, 4, 5, 6, 7, 9, -8, 7, -6, 5, -4, 3, -2, 1, 0, 1, 2, 3, 4, 5, 6]
%o: uint8[] = constant 0
%xq = QuantizeLinear(%x, %s, )" +
         std::string(zero) + R"()
%xd = DequantizeLinear(%xq, %s, )" +
         std::string(zero) + R"()
%wd = DequantizeLinear(%w, %t, %u)
%c = Conv(%xd, %wd) {pads=)" +
         std::string(pads) + R"(}
%r = Relu(%c)
%m = MaxPool(%r) {kernel_shape=[2, 2], strides=[2, 2]}
%yq = QuantizeLinear(%m, %v, %q)
%y = DequantizeLinear(%yq, %v, %q)
})";
}

TEST(IntegerProducts, PoolsOfBytesOnGpus) {
  const auto graph = rewritten(pooled("%z", "[0, 0, 0, 0]"), 0.02, gpu());
  EXPECT_EQ(count(*graph, "ConvInteger"), 1);
  for (const auto& node : graph->nodes())
    if (node->is("MaxPool")) {
      EXPECT_EQ(node->input(0)->type.dtype, DType::kUint8);
    }
}

TEST(IntegerProducts, GpusPadWithZeroAlone) {
  EXPECT_EQ(count(*rewritten(pooled("%z", "[1, 1, 1, 1]"), 0.02, gpu()), "ConvInteger"), 0);
  EXPECT_EQ(count(*rewritten(pooled("%o", "[1, 1, 1, 1]"), 0.02, gpu()), "ConvInteger"), 1);
  EXPECT_EQ(count(*rewritten(pooled("%z", "[1, 1, 1, 1]"), 0.02), "ConvInteger"), 1)
      << "the CPU pads with any";
}

TEST(IntegerProducts, TheStartOfAQuantizationIsItsDivision) {
  const auto graph = rewritten("graph(%x: float32[n,3]) -> (%y) {\n" + kParameters + R"(
%xq = QuantizeLinear(%x, %s, %z)
%y = DequantizeLinear(%xq, %s, %z)
})",
                               1e-6);
  int starts = 0;
  for (const auto& node : graph->nodes()) starts += begins_quantization(*node) && node->is("Div");
  EXPECT_EQ(starts, 1);
  for (const auto& node : graph->nodes())
    if (node->is("Round")) {
      EXPECT_FALSE(begins_quantization(*node));
    }
}

}  // namespace
}  // namespace wootz::pass_tests
