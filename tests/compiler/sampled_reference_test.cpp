// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampled_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/evaluate.h"
#include "tests/ops/one_node.h"

namespace wootz {
namespace {

Tensor waves(Dims dims, double step) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i)
    t.as<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return t;
}

Attributes one_int(const char* name, int64_t value) {
  Attributes a;
  a.set(name, value);
  return a;
}

/// Three elements by their slices against the whole result.
void expect_slices(const char* op, std::vector<Datum> inputs, Attributes attributes = {}) {
  SCOPED_TRACE(op);
  const OpDef* def = OpRegistry::global().find("", op);
  ASSERT_TRUE(def);
  OneNode one(*def, {op, std::move(inputs), std::move(attributes)}, false);
  infer_graph(one.graph);
  const std::vector<Datum> whole = evaluate_graph(one.graph, one.inputs);
  const Bindings bindings(one.graph.symbols());
  SampledReference sampled(one.graph, one.inputs, bindings);
  const Tensor& expected = whole[0].tensor;
  const std::vector<int64_t> at = {0, expected.size() / 3, expected.size() - 1};
  const std::vector<double> found = sampled.elements(one.graph.outputs()[0], at).to_doubles(),
                            all = expected.to_doubles();
  for (size_t i = 0; i < at.size(); ++i)
    EXPECT_EQ(found[i], all[static_cast<size_t>(at[i])]) << "element " << at[i];
}

TEST(SampledReference, SlicesGiveWhatTheWholeGives) {
  expect_slices("Softmax", {waves({2, 3, 40}, 0.7)}, one_int("axis", -1));
  expect_slices("Softmax", {waves({4, 5, 6}, 0.7)}, one_int("axis", 1));
  expect_slices("LogSoftmax", {waves({7, 8}, 0.3)}, one_int("axis", 0));
  expect_slices("ArgMax", {waves({6, 5, 7}, 0.9)}, one_int("axis", 1));
  expect_slices("LayerNormalization", {waves({3, 5, 8}, 0.2), waves({8}, 0.5), waves({8}, 0.1)});
  expect_slices("InstanceNormalization", {waves({2, 9, 3, 4}, 0.2), waves({9}, 0.5), waves({9}, 0.1)});
  expect_slices("GlobalAveragePool", {waves({2, 9, 3, 4}, 0.2)});
  expect_slices("ReduceMean", {waves({4, 6, 5}, 0.4), Tensor::int64s(Dims{1})}, one_int("keepdims", 0));
  expect_slices("ReduceMax", {waves({4, 6, 5}, 0.4), Tensor::int64s(Dims{0, 2})}, one_int("keepdims", 1));
}

TEST(SampledReference, PoolsAskForTheirWindowsAlone) {
  for (const int64_t ceil_mode : {0, 1}) {
    Graph graph;
    const Type type = Type::tensor(DType::kFloat32, Shape{Dim(2), Dim(3), Dim(7), Dim(9)});
    Value* x = graph.add_input("x", type);
    Value* y = graph.add_node("Softmax", {x})->add_output("y", type);
    y->producer()->attributes.set("axis", int64_t{-1});
    Node* pool = graph.add_node("MaxPool", {y});
    pool->attributes.set("kernel_shape", Ints{2, 3});
    pool->attributes.set("strides", Ints{2, 2});
    pool->attributes.set("ceil_mode", ceil_mode);
    graph.add_output(pool->add_output("z", Type{}));
    infer_graph(graph);
    const std::vector<Datum> inputs = {waves({2, 3, 7, 9}, 0.7)};
    const Tensor expected = evaluate_graph(graph, inputs)[0].tensor;
    const Bindings bindings(graph.symbols());
    SampledReference sampled(graph, inputs, bindings);
    std::vector<int64_t> at;
    for (int64_t i = 0; i < expected.size(); i += 5) at.push_back(i);
    at.push_back(expected.size() - 1);
    EXPECT_EQ(sampled.elements(graph.outputs()[0], at).to_doubles(),
              gather_elements(expected, at).to_doubles())
        << "ceil_mode " << ceil_mode;
  }
}

TEST(SampledReference, ScalesThatDifferFromSliceToSliceAreRight) {
  Attributes second = one_int("axis", 1);
  expect_slices("LayerNormalization", {waves({8, 4, 3}, 0.2), waves({4, 3}, 0.5)}, second);
  expect_slices("LayerNormalization", {waves({8, 4, 3}, 0.2), waves({8, 1, 1}, 0.5)}, one_int("axis", 2));
}

}  // namespace
}  // namespace wootz
