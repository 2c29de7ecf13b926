// SPDX-License-Identifier: Apache-2.0
// com.microsoft operators that become standard ones: canonicalized, inferred and run as graphs.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/canonicalize.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {
namespace {

using Values = std::vector<double>;

Tensor floats(Dims dims, std::initializer_list<double> values) {
  return sample_tensor(DType::kFloat32, std::move(dims), values);
}

/// Constants in, the graph's outputs out; no com.microsoft node may be left.
std::vector<Values> run(const char* op, const std::vector<Datum>& inputs, Attributes attributes,
                        std::vector<size_t> wanted = {0}) {
  Graph graph;
  std::vector<Value*> values;
  for (const Datum& d : inputs)
    values.push_back(d.kind == Datum::Kind::kNone
                         ? nullptr
                         : graph.add_constant("in" + std::to_string(values.size()), d.tensor));
  Node* node = graph.add_node("com.microsoft", op, values);
  node->attributes = std::move(attributes);
  for (size_t i = 0; i <= wanted.back(); ++i) node->add_output("out" + std::to_string(i), Type());
  for (size_t i = 0; i <= wanted.back(); ++i)
    if (std::find(wanted.begin(), wanted.end(), i) == wanted.end()) node->adopt_output(i, nullptr);
  for (size_t i : wanted) graph.add_output(node->output(i));
  CanonicalizeContext context(*node, 1);
  op_of(*node).canonicalize(context);
  infer_graph(graph);
  for (const auto& n : graph.nodes()) EXPECT_TRUE(n->domain.empty()) << n->op;
  std::vector<Values> results;
  for (const Datum& d : evaluate_graph(graph, {})) results.push_back(d.tensor.to_doubles());
  return results;
}

void expect_near(const Values& found, const Values& expected, double tolerance = 1e-5) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

TEST(Expansion, SkipLayerNormalizationAlsoGivesTheSum) {
  const auto r = run("SkipLayerNormalization",
                     {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {0, 1}), floats({2}, {1, 2}),
                      floats({2}, {0, 5}), floats({2}, {1, 2})},
                     {}, {0, 3});
  expect_near(r[0], {-1, 7});
  EXPECT_EQ(r[1], (Values{2, 5}));
}

TEST(Expansion, FusedMatMulTransposesAndScales) {
  const Attributes a = sample_attributes({{"transA", int_attribute(1)}, {"alpha", float_attribute(0.5f)}});
  EXPECT_EQ(run("FusedMatMul", {floats({2, 1}, {1, 2}), floats({2, 2}, {2, 4, 6, 8})}, a)[0],
            (Values{7, 10}));
}

TEST(Expansion, FusedConvAddsBeforeTheActivation) {
  const Attributes a = sample_attributes({{"activation", string_attribute("Relu")}});
  EXPECT_EQ(run("FusedConv",
                {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 1}, {1}), floats({1}, {-2}),
                 floats({1, 1, 3}, {0, 3, -9})},
                a)[0],
            (Values{0, 3, 0}));
  EXPECT_THROW(run("FusedConv", {floats({1, 1, 1}, {1}), floats({1, 1, 1}, {1})},
                   sample_attributes({{"activation", string_attribute("Nonsense")}})),
               Error);
}

TEST(Expansion, MatMulNBitsUnpacksTheLowNibbleFirst) {
  // One column of K = 3 in blocks of 2: nibbles 1 2 | 3 (and a filler), zero point 8, scales 1 and 10.
  const Tensor packed = sample_tensor(DType::kUint8, {1, 2, 1}, {0x21, 0x03});
  const Attributes a = sample_attributes({{"K", int_attribute(3)},
                                          {"N", int_attribute(1)},
                                          {"bits", int_attribute(4)},
                                          {"block_size", int_attribute(2)}});
  EXPECT_EQ(run("MatMulNBits", {floats({1, 3}, {1, 1, 1}), packed, floats({2}, {1, 10})}, a)[0],
            (Values{-7 - 6 - 50}));
}

TEST(Expansion, MatMulIntegerToFloat) {
  const auto r = run("MatMulIntegerToFloat",
                     {sample_tensor(DType::kUint8, {1, 2}, {2, 3}),
                      sample_tensor(DType::kInt8, {2, 1}, {4, -1}),
                      floats({}, {0.5}),
                      floats({}, {2}),
                      sample_tensor(DType::kUint8, {}, {1}),
                      {},
                      floats({1}, {0.25})},
                     {});
  EXPECT_EQ(r[0], (Values{2.25}));
}

TEST(Expansion, QLinearAddRequantizes) {
  const auto u8 = [](double v) { return Datum(sample_tensor(DType::kUint8, {1}, {v})); };
  const auto zero = [](double v) { return Datum(sample_tensor(DType::kUint8, {}, {v})); };
  // (10 - 2) * 0.5 + (20 - 4) * 0.25 = 8; 8 / 2 + 1.
  EXPECT_EQ(
      run("QLinearAdd",
          {u8(10), floats({}, {0.5}), zero(2), u8(20), floats({}, {0.25}), zero(4), floats({}, {2}), zero(1)},
          {})[0],
      (Values{5}));
}

TEST(Expansion, MultiHeadAttentionMasksByLength) {
  // One head of size 1; the second key is masked out, so the first value comes back.
  const auto r = run(
      "MultiHeadAttention",
      {floats({1, 1, 1}, {1}),
       floats({1, 2, 1}, {1, 1}),
       floats({1, 2, 1}, {3, 9}),
       {},
       sample_tensor(DType::kInt32, {1}, {1})},
      sample_attributes({{"num_heads", int_attribute(1)}, {"mask_filter_value", float_attribute(-1e9f)}}));
  expect_near(r[0], {3});
}

TEST(Expansion, MultiHeadAttentionUnpacksOneTensor) {
  // [B,S,N,3,H] = q, k, v of two tokens: equal keys, so the mean of the values.
  const auto r = run("MultiHeadAttention", {floats({1, 2, 1, 3, 1}, {1, 1, 2, 1, 1, 4})},
                     sample_attributes({{"num_heads", int_attribute(1)}}));
  expect_near(r[0], {3, 3});
}

TEST(Expansion, QuickGelu) {
  expect_near(run("QuickGelu", {floats({1}, {2})}, {})[0], {2 / (1 + std::exp(-1.702 * 2))});
}

}  // namespace
}  // namespace wootz
