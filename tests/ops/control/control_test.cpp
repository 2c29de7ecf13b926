// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/sample_tensors.h"

namespace wootz {
namespace {

using sample::bools;
using sample::counting;
using sample::floats;
using sample::ints;
using testing::ElementsAre;

Value* unary(Graph& g, const char* op, std::vector<Value*> inputs) {
  return g.add_node(op, std::move(inputs))->add_output(g.unique_name(op), Type{});
}

/// if (cond) squeeze(x, 0) else x, where x comes from outside.
struct Branches {
  Graph graph;
  Value* cond = graph.add_input("cond", Type::tensor(DType::kBool, Shape{}));
  Value* x;
  Value* out;

  explicit Branches(Shape shape) : x(graph.add_input("x", Type::tensor(DType::kFloat32, std::move(shape)))) {
    auto then_branch = std::make_shared<Graph>(graph.shared_symbols(), &graph);
    Value* axes = then_branch->add_constant("axes", ints({0}));
    then_branch->add_output(unary(*then_branch, "Squeeze", {x, axes}));
    auto else_branch = std::make_shared<Graph>(graph.shared_symbols(), &graph);
    Value* none = else_branch->add_constant("none", Tensor::zeros(DType::kInt64, {0}));
    else_branch->add_output(unary(*else_branch, "Unsqueeze", {x, none}));
    Node* node = graph.add_node("If", {cond});
    node->attributes.set("then_branch", GraphPtr(then_branch));
    node->attributes.set("else_branch", GraphPtr(else_branch));
    out = node->add_output("out", Type{});
    graph.add_output(out);
    infer_graph(graph);
  }
};

TEST(If, BranchesOfOtherRanksHaveNoCommonShape) {
  Branches b({Dim(1), Dim(4)});
  EXPECT_FALSE(b.out->type.has_rank());
  const Tensor x = counting(DType::kFloat32, {1, 4});
  EXPECT_EQ(evaluate_graph(b.graph, std::vector<Datum>{bools({}, {1}), x})[0].tensor.dims(), (Dims{4}));
  EXPECT_EQ(evaluate_graph(b.graph, std::vector<Datum>{bools({}, {0}), x})[0].tensor.dims(), (Dims{1, 4}));
}

TEST(If, ABranchThatCannotRunDoesNotBindSymbolsOutside) {
  Branches symbolic({Dim(2), Dim(4)});  // Squeeze of a dimension of size 2 can never run
  EXPECT_EQ(to_string(symbolic.out->type, symbolic.graph.symbols()), "float32[2,4]");
}

TEST(If, ASqueezeInABranchDoesNotFixTheBatch) {
  Branches b({Dim(1), Dim(4)});
  const Dim batch = b.graph.symbols().input("batch");
  b.x->type.shape = Shape{batch, Dim(4)};
  infer_graph(b.graph);
  EXPECT_EQ(b.graph.symbols().resolve(batch), batch);
}

/// Loop that appends the trip number while i < 3: the state grows, the condition ends it early.
TEST(Loop, GrowingStateAndEarlyExit) {
  Graph graph;
  Value* limit = graph.add_constant("limit", Tensor::scalar_int64(10));
  Value* start = graph.add_input("start", Type::tensor(DType::kInt64, {Dim(1)}));
  Value* bound = graph.add_input("bound", Type::tensor(DType::kInt64, Shape{}));
  auto body = std::make_shared<Graph>(graph.shared_symbols(), &graph);
  Value* trip = body->add_input("trip", Type::tensor(DType::kInt64, Shape{}));
  body->add_input("cond", Type::tensor(DType::kBool, Shape{}));
  Value* state = body->add_input("state", Type::tensor(DType::kInt64, {Dim(1)}));
  Value* zero = body->add_constant("zero", ints({0}));
  Node* concat = body->add_node("Concat", {state, unary(*body, "Unsqueeze", {trip, zero})});
  concat->attributes.set("axis", int64_t{0});
  Value* longer = concat->add_output("longer", Type{});
  body->add_output(unary(*body, "Less", {trip, bound}));  // bound is captured
  body->add_output(longer);
  body->add_output(unary(*body, "Size", {longer}));
  Node* loop = graph.add_node("Loop", {limit, nullptr, start});
  loop->attributes.set("body", GraphPtr(body));
  graph.add_output(loop->add_output("final", Type{}));
  graph.add_output(loop->add_output("sizes", Type{}));
  infer_graph(graph);
  ASSERT_TRUE(graph.outputs()[0]->type.has_rank());
  EXPECT_FALSE((*graph.outputs()[0]->type.shape)[0].is_constant());
  EXPECT_EQ(graph.symbols().upper_bound((*graph.outputs()[1]->type.shape)[0]), 10);
  const auto out = evaluate_graph(graph, std::vector<Datum>{ints({7}), Tensor::scalar_int64(2)});
  EXPECT_THAT(out[0].tensor.to_int64s(), ElementsAre(7, 0, 1, 2));
  EXPECT_THAT(out[1].tensor.to_int64s(), ElementsAre(2, 3, 4));
}

/// state += row; outputs state and row squared, over rows from the last to the first.
TEST(Scan, ReverseOverRows) {
  Graph graph;
  Value* start = graph.add_input("start", Type::tensor(DType::kFloat32, {Dim(2)}));
  Value* rows = graph.add_input("rows", Type::tensor(DType::kFloat32, {graph.symbols().input("n"), Dim(2)}));
  auto body = std::make_shared<Graph>(graph.shared_symbols(), &graph);
  Value* state = body->add_input("state", Type{});
  Value* row = body->add_input("row", Type{});
  Value* next = unary(*body, "Add", {state, row});
  body->add_output(next);
  body->add_output(next);
  body->add_output(unary(*body, "Mul", {row, row}));
  Node* scan = graph.add_node("Scan", {start, rows});
  scan->attributes.set("body", GraphPtr(body));
  scan->attributes.set("num_scan_inputs", int64_t{1});
  scan->attributes.set("scan_input_directions", Ints{1});
  for (const char* name : {"final", "sums", "squares"}) graph.add_output(scan->add_output(name, Type{}));
  infer_graph(graph);
  EXPECT_EQ(to_string(graph.outputs()[0]->type, graph.symbols()), "float32[2]");
  EXPECT_EQ(to_string(graph.outputs()[1]->type, graph.symbols()), "float32[n,2]");
  const auto out =
      evaluate_graph(graph, std::vector<Datum>{floats({2}, {10, 20}), floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(out[0].tensor.span<float>(), ElementsAre(19, 32));
  EXPECT_THAT(out[1].tensor.span<float>(), ElementsAre(15, 26, 18, 30, 19, 32));
  EXPECT_THAT(out[2].tensor.span<float>(), ElementsAre(25, 36, 9, 16, 1, 4));
}

TEST(Scan, WithoutRowsGivesTheDimsOfAFirstIteration) {
  Graph graph;
  Value* start = graph.add_input("start", Type::tensor(DType::kFloat32, {graph.symbols().input("m")}));
  Value* rows = graph.add_input(
      "rows", Type::tensor(DType::kFloat32, {graph.symbols().input("n"), graph.symbols().input("k")}));
  auto body = std::make_shared<Graph>(graph.shared_symbols(), &graph);
  Value* state = body->add_input("state", Type{});
  Value* row = body->add_input("row", Type{});
  body->add_output(unary(*body, "Neg", {row}));
  body->add_output(unary(*body, "Neg", {state}));
  Node* scan = graph.add_node("Scan", {start, rows});
  scan->attributes.set("body", GraphPtr(body));
  scan->attributes.set("num_scan_inputs", int64_t{1});
  for (const char* name : {"final", "delayed"}) graph.add_output(scan->add_output(name, Type{}));
  infer_graph(graph);
  const auto out = evaluate_graph(
      graph, std::vector<Datum>{floats({2}, {10, 20}), Tensor::zeros(DType::kFloat32, {0, 2})});
  EXPECT_EQ(out[1].tensor.dims(), (Dims{0, 2}));
}

}  // namespace
}  // namespace wootz
