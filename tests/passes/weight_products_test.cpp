// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/weight_products.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

struct WeightCase {
  DType type = DType::kInt8;
  int64_t axis = 1, block = 0;  // of the DequantizeLinear
  bool zeros = false, transpose = false;
  const char* product = "MatMul";  // Gemm: transB, with a bias
  int64_t rows = 0;                // 0: a symbol
};

constexpr int64_t kDepth = 160, kColumns = 128;

/// rows [n, 160] times dequantized weights, which are [160, 128] or where they are turned [128, 160].
std::unique_ptr<Graph> product_graph(const WeightCase& c) {
  auto graph = std::make_unique<Graph>();
  const Dim rows = c.rows ? Dim(c.rows) : graph->symbols().input("n");
  Value* x = graph->add_input("x", Type::tensor(DType::kFloat32, Shape{rows, kDepth}));
  const bool gemm = std::string_view(c.product) == "Gemm", turned = gemm != c.transpose;
  const Dims dims = turned ? Dims{kColumns, kDepth} : Dims{kDepth, kColumns};
  const auto filled = [](DType type, const Dims& of, int seed) {
    Tensor t = Tensor::zeros(type, of);
    for (int64_t i = 0; i < t.size(); ++i) {
      const auto value = (i * 29 + seed) % 15;
      t.as<uint8_t>()[i] = static_cast<uint8_t>(type == DType::kInt8 ? value - 7 : value);
    }
    return t;
  };
  Dims scales = c.block == 0 ? Dims{dims[static_cast<size_t>(c.axis)]} : dims;
  if (c.block != 0)
    scales[static_cast<size_t>(c.axis)] = (scales[static_cast<size_t>(c.axis)] + c.block - 1) / c.block;
  Tensor scale = Tensor::zeros(DType::kFloat32, scales);
  for (int64_t i = 0; i < scale.size(); ++i) scale.as<float>()[i] = 0.01f * static_cast<float>(1 + i % 7);
  std::vector<Value*> in{graph->add_constant("w", filled(c.type, dims, 3)), graph->add_constant("s", scale)};
  if (c.zeros) in.push_back(graph->add_constant("z", filled(c.type, scales, 5)));
  Node* dq = graph->add_node("DequantizeLinear", in);
  dq->attributes.set("axis", c.axis);
  if (c.block != 0) dq->attributes.set("block_size", c.block);
  Value* w = dq->add_output("d", Type());
  if (c.transpose) {
    Node* t = graph->add_node("Transpose", {w});
    t->attributes.set("perm", Ints{1, 0});
    w = t->add_output("t", Type());
  }
  std::vector<Value*> operands{x, w};
  if (gemm) operands.push_back(graph->add_constant("b", scale.reshaped({scale.size()})));
  Node* product = graph->add_node(c.product, operands);
  if (gemm) product->attributes.set("transB", int64_t{1});
  graph->add_output(product->add_output("y", Type()));
  infer_graph(*graph);
  return graph;
}

/// How many products read few bits now; the results must be the same.
int dequantized_products(const WeightCase& c, const char* target = "cpu") {
  const auto original = product_graph(c), graph = product_graph(c);
  TargetTraits traits = test_target();
  traits.name = target;
  PassContext context(traits, {});
  run_pass(*graph, weight_products(), context);
  verify_graph(*graph, "the test");
  expect_same_results(*original, *graph, 1e-5);
  int n = 0;
  for (const auto& node : graph->nodes()) n += node->op == "MatMulDequantized";
  return n;
}

TEST(WeightProducts, ScalesOfChannelsAndBlocks) {
  EXPECT_EQ(dequantized_products({}), 1);
  EXPECT_EQ(dequantized_products({.type = DType::kUint8, .zeros = true}), 1);
  EXPECT_EQ(dequantized_products({.type = DType::kUint4, .axis = 0, .block = 32, .zeros = true}), 1);
  EXPECT_EQ(dequantized_products({.type = DType::kUint4, .axis = 1, .block = 16, .transpose = true}), 1);
  EXPECT_EQ(dequantized_products({.axis = 0, .product = "Gemm"}), 1);
  EXPECT_EQ(dequantized_products({.type = DType::kFloat8E4M3FN, .axis = 0, .transpose = true}), 1);
}

TEST(WeightProducts, OthersStayAsTheyAre) {
  EXPECT_EQ(dequantized_products({.axis = 0}), 0);               // scales along k
  EXPECT_EQ(dequantized_products({.axis = 1, .block = 32}), 0);  // blocks along the columns
  EXPECT_EQ(dequantized_products({.axis = 0, .block = 12}), 0);  // nibbles of a word would differ
  EXPECT_EQ(dequantized_products({.rows = 64}), 0);              // unpacking costs more
  EXPECT_EQ(dequantized_products({.rows = 8}), 1);
  EXPECT_EQ(dequantized_products({.rows = 8}, "cuda"), 1);
  EXPECT_EQ(dequantized_products({.rows = 17}, "cuda"), 0);
}

}  // namespace
}  // namespace wootz::pass_tests
