// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/import/graph_lines.h"
#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;
using test_ops::import;
using test_ops::lines_of;
using Lines = std::vector<std::string>;

NodeSpec copy(const std::string& from, const std::string& to, const std::string& name = "") {
  return {"Copy", {from}, {to}, {}, name, "test"};
}

ModelSpec one_copy() {
  ModelSpec spec;
  spec.graph.nodes = {copy("x", "y")};
  spec.graph.inputs = {float_info("x", {2, 3})};
  spec.graph.outputs = {float_info("y", {2, 3})};
  return spec;
}

TEST(ImportGraph, NamesTypesAndHeader) {
  ModelSpec spec = one_copy();
  spec.metadata = {{"author", "smith"}};
  const ImportedModel m = import(spec);
  EXPECT_EQ(m.producer, "writer 1.2");
  EXPECT_EQ(m.ir_version, 8);
  EXPECT_EQ(m.opsets, (std::map<std::string, int64_t>{{"", 17}, {"test", 2}}));
  EXPECT_EQ(m.metadata, (std::map<std::string, std::string>{{"author", "smith"}}));
  EXPECT_EQ(lines_of(*m.graph), (Lines{"y:float32[2,3] = test.Copy(x:float32[2,3])"}));
  EXPECT_EQ(m.graph->name, "g");
  EXPECT_EQ(m.graph->outputs()[0]->name, "y");
}

TEST(ImportGraph, OriginsAreNamesOrNumberedOps) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {copy("x", "t", "first"), copy("t", "y")};
  const ImportedModel m = import(spec);
  const auto& nodes = m.graph->nodes();
  EXPECT_EQ(nodes.front()->origins, Strings{"first"});
  EXPECT_EQ(nodes.back()->origins, Strings{"Copy#1"});
  EXPECT_EQ(nodes.back()->name, "");
}

TEST(ImportGraph, InputDimensions) {
  ModelSpec spec = one_copy();
  spec.graph.inputs = {float_info("x", {"batch", "", -1, 4}),
                       float_info("in:0", {"batch", "seq len", "?", "None"})};
  spec.graph.nodes.push_back(copy("in:0", "z"));
  spec.graph.outputs.push_back(float_info("z", {"batch", "", "", ""}));
  EXPECT_EQ(
      lines_of(*import(spec).graph),
      (Lines{
          "y:float32[batch,x.1,x.2,4] = test.Copy(x:float32[batch,x.1,x.2,4])",
          "z:float32[batch,seq_len,in_0.2,in_0.3] = test.Copy(in:0:float32[batch,seq_len,in_0.2,in_0.3])"}));
}

TEST(ImportGraph, DifferentNamesStayDifferentSymbols) {
  ModelSpec spec = one_copy();
  spec.graph.inputs = {float_info("x", {"a b", "a_b", "a b", "1"})};
  EXPECT_EQ(lines_of(*import(spec).graph),
            (Lines{"y:float32[a_b,a_b_2,a_b,d_1] = test.Copy(x:float32[a_b,a_b_2,a_b,d_1])"}));
}

TEST(ImportGraph, OptionalInputsAndOutputs) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {{"Copy", {"x", ""}, {"y", ""}, {}, "", "test"}};
  EXPECT_EQ(lines_of(*import(spec).graph), (Lines{"y:float32[2,3] = test.Copy(x:float32[2,3])"}));
  spec.graph.nodes = {
      {"Body",
       {"", "x"},
       {"y"},
       {graph_attribute("body", graph({.nodes = {copy("x", "b")}, .outputs = {value_info("b", "")}}))},
       "",
       "test"}};
  EXPECT_EQ(lines_of(*import(spec).graph)[0], "y:float32[2,3] = test.Body(-, x:float32[2,3]) {");
}

TEST(ImportGraph, InitializersThatAreInputsBecomeConstants) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {{"Add", {"x", "w"}, {"y"}, {}, "", "test"}};
  spec.graph.inputs.push_back(float_info("w", {2, "n"}));
  spec.graph.initializers = {float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6})};
  const ImportedModel m = import(spec);
  EXPECT_EQ(m.graph->inputs().size(), 1u);
  EXPECT_EQ(m.fixed_inputs, Strings{"w"});
  EXPECT_EQ(m.notes, Strings{"input 'w' has a default value in the file and is now a constant"});
  EXPECT_EQ(m.graph->find_value("w")->constant->to_doubles()[5], 6);
  spec.ir_version = 3;  // where every initializer had to be an input
  EXPECT_TRUE(import(spec).fixed_inputs.empty());
}

TEST(ImportGraph, SparseInitializersAreMadeDense) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {{"Add", {"x", "w"}, {"y"}, {}, "", "test"}};
  for (const Bytes& indices : {int64_tensor("", {2}, {1, 5}), int64_tensor("", {2, 2}, {0, 1, 1, 2})}) {
    spec.graph.sparse_initializers = {sparse_tensor(float_tensor("w", {2}, {7, 8}), indices, {2, 3})};
    EXPECT_EQ(import(spec).graph->find_value("w")->constant->to_doubles(),
              (std::vector<double>{0, 7, 0, 0, 0, 8}));
  }
}

TEST(ImportGraph, ConstantNodesBecomeConstants) {
  ModelSpec spec = one_copy();
  spec.graph.nodes.push_back(
      {"Constant", {}, {"c"}, {tensor_attribute("value", float_tensor("", {1}, {5}))}, "", ""});
  spec.graph.nodes.push_back({"Constant", {}, {"i"}, {int_attribute("value_int", 3)}, "", "ai.onnx"});
  spec.graph.nodes.push_back({"Constant", {}, {"f"}, {float_attribute("value_float", 0.5f)}, "", ""});
  spec.graph.nodes.push_back({"Constant", {}, {"v"}, {ints_attribute("value_ints", {1, 2})}, "", ""});
  spec.graph.nodes.push_back({"Constant", {}, {"s"}, {string_attribute("value_string", "hi")}, "", ""});
  for (const char* name : {"c", "i", "f", "v", "s"}) spec.graph.outputs.push_back(value_info(name, ""));
  const ImportedModel m = import(spec);
  EXPECT_EQ(m.graph->node_count(), 1u);
  const auto outputs = m.graph->outputs();
  EXPECT_EQ(outputs[1]->constant->to_doubles(), std::vector<double>{5});
  EXPECT_EQ(outputs[2]->constant->to_int64s(), Ints{3});
  EXPECT_EQ(outputs[2]->constant->rank(), 0);
  EXPECT_EQ(outputs[3]->constant->to_doubles(), std::vector<double>{0.5});
  EXPECT_EQ(outputs[4]->constant->to_int64s(), (Ints{1, 2}));
  EXPECT_EQ(outputs[5]->constant->as<std::string>()[0], "hi");
}

TEST(ImportGraph, NodesInAnyOrder) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {copy("b", "y", "last"), copy("x", "a", "first"), copy("a", "b", "middle")};
  EXPECT_EQ(lines_of(*import(spec).graph),
            (Lines{"a:float32[2,3] = test.Copy(x:float32[2,3])", "b:float32[2,3] = test.Copy(a:float32[2,3])",
                   "y:float32[2,3] = test.Copy(b:float32[2,3])"}));
}

TEST(ImportGraph, OldSpellingsAreBroughtToTheNewest) {
  ModelSpec spec = one_copy();
  spec.graph.nodes = {{"Widen", {"x"}, {"y"}, {ints_attribute("axes", {0, 1})}, "w", "test"}};
  spec.opsets = {{"", 17}, {"test", 1}};
  const ImportedModel m = import(spec);
  const Node& node = *m.graph->nodes().front();
  EXPECT_EQ(node.attributes.size(), 0u);
  EXPECT_EQ(node.input(1)->constant->to_int64s(), (Ints{0, 1}));
}

TEST(ImportGraph, DeclaredTypesCountWhereInferenceKnowsNone) {
  ModelSpec spec = one_copy();
  spec.graph.inputs = {float_info("x", {"n", 3})};
  spec.graph.nodes = {{"Opaque", {"x"}, {"t"}, {}, "", "test"}, copy("t", "y")};
  spec.graph.value_infos = {float_info("t", {"n", 7})};
  spec.graph.outputs = {float_info("y", {1, 1, 1})};  // stale: inference knows better
  EXPECT_EQ(lines_of(*import(spec).graph).back(), "y:float32[n,7] = test.Copy(t:float32[n,7])");
}

TEST(ImportGraph, OutputsMayBeInputsAndConstants) {
  ModelSpec spec = one_copy();
  spec.graph.initializers = {float_tensor("w", {1}, {4})};
  spec.graph.outputs = {float_info("x", {2, 3}), float_info("w", {1}), float_info("y", {2, 3})};
  const ImportedModel m = import(spec);
  EXPECT_EQ(m.graph->outputs()[0], m.graph->inputs()[0]);
  EXPECT_TRUE(m.graph->outputs()[1]->is_constant());
}

TEST(ImportGraph, AlignedWeightsViewTheModel) {
  // The same weights at four offsets: at least one lies aligned, and one does not.
  bool has_view = false, has_copy = false;
  for (const char* pad : {"", "1", "12", "123"}) {
    ModelSpec spec = one_copy();
    spec.graph.name = pad;
    spec.graph.nodes = {{"Add", {"x", "w"}, {"y"}, {}, "", "test"}};
    spec.graph.initializers = {float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6})};
    const ImportedModel m = import(spec);
    const Tensor& w = *m.graph->find_value("w")->constant;
    EXPECT_EQ(w.to_doubles()[5], 6);
    (reinterpret_cast<uintptr_t>(w.data()) % 64 == 0 ? has_copy : has_view) = true;
  }
  EXPECT_TRUE(has_view && has_copy);
}

}  // namespace
}  // namespace wootz
