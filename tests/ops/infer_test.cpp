// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "ops/registry.h"

namespace wootz {
namespace {

struct Fixture : testing::Test {
  Graph graph;
  Dim batch = graph.symbols().input("batch");
  Value* input(const char* name, Shape shape) {
    return graph.add_input(name, Type::tensor(DType::kFloat32, std::move(shape)));
  }
  Value* node(const char* op, std::vector<Value*> inputs, Type declared = {}) {
    return graph.add_node(op, std::move(inputs))->add_output(graph.unique_name(op), std::move(declared));
  }
  std::string type(const Value* value) { return to_string(value->type, graph.symbols()); }
};
using Infer = Fixture;
using Evaluate = Fixture;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST_F(Infer, ShapesBroadcast) {
  Value* sum = node("Add", {input("a", {batch, 1, 5}), input("b", {3, 1})});
  infer_graph(graph);
  EXPECT_EQ(type(sum), "float32[batch,3,5]");
}

TEST_F(Infer, DimsThatDoNotBroadcastAreAnErrorThatNamesTheNode) {
  Value* sum = node("Add", {input("a", {2, 3}), input("b", {4})});
  sum->producer()->name = "add_7";
  const std::string message = message_of([&] { infer_graph(graph); });
  EXPECT_NE(message.find("Add 'add_7'"), std::string::npos) << message;
  EXPECT_NE(message.find("[2,3]"), std::string::npos) << message;
}

TEST_F(Infer, AxesThatOnlyTheRunTellsMayRepeat) {
  Value* x = input("x", {2, 3, 4});
  Value *one = graph.add_input("one", Type::tensor(DType::kInt64, {1})),
        *two = graph.add_input("two", Type::tensor(DType::kInt64, {2}));
  Value *known = node("ReduceSum", {x, one}), *open = node("ReduceSum", {x, two});
  for (Value* v : {known, open}) v->producer()->attributes.set("keepdims", int64_t{0});
  infer_graph(graph);
  EXPECT_EQ(known->type.rank(), 2);
  EXPECT_FALSE(open->type.has_rank());
}

TEST_F(Infer, BatchNormalizationIsOfFloats) {
  std::vector<Value*> inputs{graph.add_input("x", Type::tensor(DType::kInt4, {1, 3, 4}))};
  for (const char* name : {"scale", "bias", "mean", "variance"})
    inputs.push_back(graph.add_input(name, Type::tensor(DType::kInt4, {3})));
  node("BatchNormalization", inputs);
  const std::string message = message_of([&] { infer_graph(graph); });
  EXPECT_NE(message.find("found int4"), std::string::npos) << message;
}

TEST_F(Infer, AWrongElementTypeSaysWhatIsAllowed) {
  node("Sqrt", {graph.add_input("n", Type::tensor(DType::kInt32, {2}))});
  const std::string message = message_of([&] { infer_graph(graph); });
  EXPECT_NE(message.find("float16"), std::string::npos) << message;
  EXPECT_NE(message.find("int32[2]"), std::string::npos) << message;
}

TEST_F(Infer, AStaleDeclaredShapeYieldsToTheInferredOne) {
  Value* y = node("Relu", {input("x", {batch, 8})}, Type::tensor(DType::kFloat32, {1, 9}));
  infer_graph(graph);
  EXPECT_EQ(type(y), "float32[batch,8]");
}

TEST_F(Infer, ADeclaredElementTypeThatContradictsIsAnError) {
  node("Relu", {input("x", {2})}, Type::tensor(DType::kFloat16, {2}));
  const std::string message = message_of([&] { infer_graph(graph); });
  EXPECT_NE(message.find("float16[2] as declared"), std::string::npos) << message;
}

TEST_F(Infer, ADeclaredNameIsEquatedWithTheExpression) {
  const Dim named = graph.symbols().input("rows");
  Value* y =
      node("Add", {input("x", {batch * 2, 3}), input("b", {3})}, Type::tensor(DType::kFloat32, {named, 3}));
  infer_graph(graph);
  EXPECT_EQ(graph.symbols().resolve(named), batch * 2);
  EXPECT_EQ(type(y), "float32[2*batch,3]");
}

TEST_F(Infer, ADeclaredNumberStandsWhereInferenceKnowsNothing) {
  const Dim unknown = graph.symbols().unknown("u");
  Value* y = node("Relu", {input("x", {unknown})}, Type::tensor(DType::kFloat32, {7}));
  infer_graph(graph);
  EXPECT_EQ(type(y), "float32[7]");
}

TEST_F(Infer, ContentsFollowArithmetic) {
  Value* dims = graph.add_symbolic_constant("dims", DType::kInt64, {batch, batch * 4, 6});
  Value* two = graph.add_constant("two", Tensor::scalar_int64(2));
  Value* half = node("Div", {dims, two});
  Value* wide = node("Cast", {half});
  wide->producer()->attributes.set("to", int64_t{7});
  Value* none = graph.add_constant("none", Tensor::scalar_int64(-1));
  Value* is_none = node("Equal", {dims, none});
  Value* chosen = node("Where", {is_none, none, wide});
  infer_graph(graph);
  ASSERT_TRUE(half->contents && wide->contents && is_none->contents);
  EXPECT_EQ(graph.symbols().to_string((*half->contents)[1]), "2*batch");
  EXPECT_EQ(graph.symbols().to_string((*half->contents)[0]), "floor_div(batch, 2)");
  EXPECT_EQ((*is_none->contents)[0], Dim(0));
  ASSERT_TRUE(chosen->contents);
  EXPECT_EQ((*chosen->contents)[1], batch * 2);
}

TEST_F(Evaluate, BindsSymbolsAndWritesSymbolicConstants) {
  Value* x = input("x", {batch * 2, 3});
  Value* dims = graph.add_symbolic_constant("dims", DType::kInt32, {batch, batch + Dim(1)});
  graph.add_output(node("Neg", {dims}));
  graph.add_output(node("Relu", {x}));
  infer_graph(graph);
  const Datum inputs[] = {Tensor::zeros(DType::kFloat32, {8, 3})};
  EXPECT_EQ(evaluate_graph(graph, inputs)[0].tensor.to_int64s(), (std::vector<int64_t>{-4, -5}));
}

TEST_F(Evaluate, AnInputOfAnotherShapeIsAnError) {
  graph.add_output(node("Relu", {input("x", {batch * 2, 3})}));
  for (const Dims& dims : {Dims{3, 3}, Dims{2, 4}, Dims{2}}) {
    const Datum inputs[] = {Tensor::zeros(DType::kFloat32, dims)};
    const std::string message = message_of([&] { evaluate_graph(graph, inputs); });
    EXPECT_NE(message.find("input 'x': expected float32[2*batch,3]"), std::string::npos) << message;
  }
}

TEST_F(Evaluate, IntegerDivisionByZeroIsAnErrorThatNamesTheNode) {
  Value* zero = graph.add_constant("zero", Tensor::int64s(std::vector<int64_t>{0}));
  graph.add_output(node("Div", {zero, zero}));
  const std::string message = message_of([&] { evaluate_graph(graph, {}); });
  EXPECT_EQ(message, "Div (output 'Div'): integer division by zero");
}

TEST_F(Evaluate, IntermediateValuesAreFreedAfterTheirLastUse) {
  Value* a = node("Relu", {input("x", {4})});
  Value* b = node("Neg", {a});
  graph.add_output(node("Abs", {b}));
  std::weak_ptr<const void> first;
  EvaluateOptions options;
  options.visit = [&](const Value* value, const Datum& datum) {
    if (value == a) first = datum.tensor.owner();
    if (value == graph.outputs()[0]) {
      EXPECT_TRUE(first.expired());
    }
  };
  const Datum inputs[] = {Tensor::zeros(DType::kFloat32, {4})};
  evaluate_graph(graph, inputs, options);
}

TEST_F(Evaluate, OfEqualCategoriesTheLastCounts) {
  Value* x = graph.add_input("x", Type::tensor(DType::kInt64, {3}));
  Node* encoder = graph.add_node("OneHotEncoder", {x});
  encoder->domain = "ai.onnx.ml";
  encoder->attributes.set("cats_int64s", Ints{1, 2, 1});
  graph.add_output(encoder->add_output("y", Type{}));
  infer_graph(graph);
  const auto y = evaluate_graph(graph, std::vector<Datum>{Tensor::int64s(Ints{3, 1, 2})});
  EXPECT_EQ(y[0].tensor.to_doubles(), (std::vector<double>{0, 0, 0, 0, 0, 1, 0, 1, 0}));
}

}  // namespace
}  // namespace wootz
