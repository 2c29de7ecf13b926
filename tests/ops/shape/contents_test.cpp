// SPDX-License-Identifier: Apache-2.0
// Shape subgraphs as exporters write them fold into exact symbolic dims.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz {
namespace {

class ShapeSubgraph : public testing::Test {
 protected:
  Value* input(const char* name, std::vector<std::string> dims, DType dtype = DType::kFloat32) {
    Shape shape;
    for (const std::string& d : dims) shape.push_back(graph.symbols().parse(d));
    return graph.add_input(name, Type::tensor(dtype, shape));
  }
  Value* constant(Tensor data) { return graph.add_constant(graph.unique_name("c"), std::move(data)); }
  Value* ints(std::vector<int64_t> v) { return constant(Tensor::int64s(v)); }
  Value* scalar(int64_t v) { return constant(Tensor::scalar_int64(v)); }
  Value* add(const char* op, std::vector<Value*> inputs,
             std::vector<std::pair<std::string, Attribute>> attributes = {}) {
    Node* node = graph.add_node(op, std::move(inputs));
    for (auto& [name, value] : attributes) node->attributes.set(name, std::move(value));
    Value* out = node->add_output(graph.unique_name(op), Type{});
    infer_node(*node);
    return out;
  }
  std::string type(const Value* v) { return to_string(v->type, graph.symbols()); }
  std::string contents(const Value* v) {
    if (!v->contents) return "none";
    std::string text;
    for (const Dim& d : *v->contents)
      text += (text.empty() ? "" : ", ") + graph.symbols().to_string(graph.symbols().resolve(d));
    return text;
  }
  Graph graph;
};

const std::pair<std::string, Attribute> kAxis0{"axis", int64_t{0}};

TEST_F(ShapeSubgraph, GatherUnsqueezeConcatReshape) {
  Value* x = input("x", {"batch", "time", "768"});
  Value* shape = add("Shape", {x});
  Value* batch = add("Gather", {shape, scalar(0)});
  Value* time = add("Gather", {shape, scalar(-2)});
  Value* target = add(
      "Concat", {add("Unsqueeze", {batch, ints({0})}), add("Unsqueeze", {time, ints({0})}), ints({12, 64})},
      {kAxis0});
  EXPECT_EQ(contents(target), "batch, time, 12, 64");
  EXPECT_EQ(type(add("Reshape", {x, target})), "float32[batch,time,12,64]");
}

TEST_F(ShapeSubgraph, MinusOneCancelsSymbols) {
  Value* x = input("x", {"batch", "12", "time", "64"});
  EXPECT_EQ(type(add("Reshape", {x, ints({0, 0, -1})})), "float32[batch,12,64*time]");
  Value* batch = add("Shape", {x}, {{"end", int64_t{1}}});
  Value* target = add("Concat", {batch, ints({-1, 768})}, {kAxis0});
  EXPECT_EQ(type(add("Reshape", {x, target})), "float32[batch,time,768]");
  Value* merged = add("Reshape", {x, ints({-1, 64})});
  EXPECT_EQ(type(add("Reshape", {merged, add("Shape", {x})})), "float32[batch,12,time,64]");
}

TEST_F(ShapeSubgraph, SliceOfAShapeAndBySymbols) {
  Value* x = input("x", {"n", "3", "h", "w"});
  Value* spatial = add("Slice", {add("Shape", {x}), ints({2}), ints({INT64_MAX})});
  EXPECT_EQ(contents(spatial), "h, w");
  EXPECT_EQ(contents(add("Slice", {spatial, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-1})})), "w, h");
  Value* h = add("Slice", {spatial, ints({0}), ints({1})});
  EXPECT_EQ(type(add("Slice", {x, ints({0}), h, ints({2})})), "float32[n,3,h,w]");
  EXPECT_EQ(type(add("Slice", {x, ints({1}), ints({-1}), ints({3})})), "float32[n,3,h,max(0, w - 2)]");
  EXPECT_EQ(type(add("Slice", {x, ints({-1}), ints({INT64_MIN}), ints({3}), ints({-1})})),
            "float32[n,3,h,w]");
}

TEST_F(ShapeSubgraph, RangeOverASymbolIsAsLongAsIt) {
  Value* x = input("x", {"batch", "time"}, DType::kInt64);
  Value* time = add("Squeeze", {add("Shape", {x}, {{"start", int64_t{1}}}), ints({0})});
  EXPECT_EQ(contents(time), "time");
  Value* positions = add("Range", {scalar(0), time, scalar(1)});
  EXPECT_EQ(type(positions), "int64[time]");
  EXPECT_EQ(type(add("Expand", {positions, add("Shape", {x})})), "int64[batch,time]");
}

TEST_F(ShapeSubgraph, FilledTiledSplitAndSizedContents) {
  Value* x = input("x", {"a", "b"});
  Value* ones =
      add("ConstantOfShape", {ints({3})}, {{"value", Attribute(Tensor::int64s(std::vector<int64_t>{1}))}});
  EXPECT_EQ(contents(ones), "1, 1, 1");
  EXPECT_EQ(contents(add("Tile", {add("Shape", {x}), ints({2})})), "a, b, a, b");
  Value* pair = add("Concat", {add("Shape", {x}), ones}, {kAxis0});
  Node* split = graph.add_node("Split", {pair, ints({1, 4})});
  split->add_output("first", Type{});
  split->add_output("rest", Type{});
  infer_node(*split);
  EXPECT_EQ(contents(split->output(0)), "a");
  EXPECT_EQ(contents(split->output(1)), "b, 1, 1, 1");
  EXPECT_EQ(contents(add("Size", {x})), "a*b");
  EXPECT_EQ(type(add("ConstantOfShape", {add("Shape", {x})})), "float32[a,b]");
}

TEST_F(ShapeSubgraph, PadsAndUnevenSplitsOfSymbols) {
  Value* x = input("x", {"n", "w"});
  EXPECT_EQ(type(add("Pad", {x, ints({0, 1, 0, -3})})), "float32[n,w - 2]");
  Node* split = graph.add_node("Split", {x});
  split->attributes.set("axis", int64_t{1});
  split->attributes.set("num_outputs", int64_t{2});
  split->add_output("first", Type{});
  split->add_output("rest", Type{});
  infer_node(*split);
  EXPECT_EQ(type(split->output(0)), "float32[n,floor_div(w + 1, 2)]");
  EXPECT_EQ(type(split->output(1)), "float32[n,-floor_div(w + 1, 2) + w]");
}

TEST_F(ShapeSubgraph, FewerElementsThanParts) {
  Value* x = input("x", {"n"});
  Node* split = graph.add_node("Split", {x});
  split->attributes.set("num_outputs", int64_t{3});
  for (const char* name : {"a", "b", "c"}) graph.add_output(split->add_output(name, Type{}));
  infer_graph(graph);
  for (int64_t n = 0; n < 9; ++n) {
    Bindings bindings(graph.symbols());
    bindings.bind((*x->type.shape)[0].terms()[0].first, n);
    const Datum data[] = {Tensor::zeros(DType::kFloat32, {n})};
    const std::vector<Datum> parts = evaluate_graph(graph, data);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(bindings.evaluate((*split->output(i)->type.shape)[0]), parts[i].tensor.dims()[0]) << n;
  }
}

TEST_F(ShapeSubgraph, RankFromTheOperandsLengthAlone) {
  Value* x = input("x", {"n", "4"});
  Value* target = input("target", {"3"}, DType::kInt64);
  EXPECT_EQ(add("Reshape", {x, target})->type.rank(), 3);
  EXPECT_EQ(add("Expand", {x, target})->type.rank(), 3);
}

TEST_F(ShapeSubgraph, ConstantTargetFixesAnInputSymbol) {
  Value* x = input("x", {"batch", "128"});
  EXPECT_EQ(type(add("Reshape", {x, ints({1, 8, 16})})), "float32[1,8,16]");
  infer_graph(graph);
  EXPECT_EQ(graph.symbols().to_string(graph.symbols().resolve((*x->type.shape)[0])), "1");
}

TEST_F(ShapeSubgraph, ImpossibleTargetsAreRefused) {
  Value* x = input("x", {"3", "4"});
  EXPECT_THROW(add("Reshape", {x, ints({5, -1})}), Error);
  EXPECT_THROW(add("Reshape", {x, ints({-1, -1})}), Error);
  EXPECT_THROW(add("Reshape", {x, ints({2, 5})}), Error);
  EXPECT_THROW(add("Reshape", {x, ints({3, 4, 0})}), Error);
  EXPECT_THROW(add("Gather", {add("Shape", {x}), scalar(2)}), Error);
}

}  // namespace
}  // namespace wootz
