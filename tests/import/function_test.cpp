// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/import/graph_lines.h"
#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;
using test_ops::error_of;
using test_ops::import;
using test_ops::lines_of;
using Lines = std::vector<std::string>;

NodeSpec copy(const std::string& from, const std::string& to) {
  return {"Copy", {from}, {to}, {}, "", "test"};
}
NodeSpec call(const std::string& function, const Names& inputs, const Names& outputs,
              const std::vector<Bytes>& attributes = {}, const std::string& name = "call") {
  return {function, inputs, outputs, attributes, name, "local"};
}

ModelSpec with(const std::vector<NodeSpec>& nodes, const std::vector<FunctionSpec>& functions) {
  ModelSpec spec;
  spec.graph.nodes = nodes;
  spec.graph.inputs = {float_info("x", {2})};
  spec.graph.outputs = {value_info("y", "")};
  spec.functions = functions;
  spec.opsets.emplace_back("local", 1);
  return spec;
}

FunctionSpec twice() {
  return {.domain = "local",
          .name = "Twice",
          .inputs = {"a"},
          .outputs = {"r"},
          .nodes = {copy("a", "t"), {"Add", {"t", "a"}, {"r"}, {}, "sum", "test"}}};
}

TEST(ImportFunction, BodiesTakeThePlaceOfCalls) {
  const ImportedModel m = import(
      with({call("Twice", {"x"}, {"u"}, {}, "one"), call("Twice", {"u"}, {"y"}, {}, "two")}, {twice()}));
  EXPECT_EQ(lines_of(*m.graph), (Lines{"one/t:float32[2] = test.Copy(x:float32[2])",
                                       "u:float32[2] = test.Add(one/t:float32[2], x:float32[2])",
                                       "two/t:float32[2] = test.Copy(u:float32[2])",
                                       "y:float32[2] = test.Add(two/t:float32[2], u:float32[2])"}));
  EXPECT_EQ(m.graph->nodes().front()->origins, Strings{"one/Copy#0"});
  EXPECT_EQ(m.graph->nodes().back()->origins, Strings{"two/sum"});
}

TEST(ImportFunction, CallEachOther) {
  const FunctionSpec four{
      .domain = "local",
      .name = "Four",
      .inputs = {"a"},
      .outputs = {"r"},
      .nodes = {call("Twice", {"a"}, {"t"}, {}, "i"), call("Twice", {"t"}, {"r"}, {}, "j")}};
  EXPECT_EQ(lines_of(*import(with({call("Four", {"x"}, {"y"})}, {four, twice()})).graph),
            (Lines{"call/i/t:float32[2] = test.Copy(x:float32[2])",
                   "call/t:float32[2] = test.Add(call/i/t:float32[2], x:float32[2])",
                   "call/j/t:float32[2] = test.Copy(call/t:float32[2])",
                   "y:float32[2] = test.Add(call/j/t:float32[2], call/t:float32[2])"}));
}

TEST(ImportFunction, AttributesComeFromTheCallOrTheDefault) {
  const NodeSpec scale{
      "Scale", {"a"}, {"r"}, {reference_attribute("by", 1, "factor"), reference_attribute("mode", 2, "mode")},
      "",      "test"};
  const FunctionSpec function{.domain = "local",
                              .name = "Scaled",
                              .inputs = {"a"},
                              .outputs = {"r"},
                              .attributes = {"factor"},
                              .nodes = {scale},
                              .attribute_defaults = {int_attribute("mode", 4)}};
  const ImportedModel given = import(with(
      {call("Scaled", {"x"}, {"y"}, {float_attribute("factor", 2), int_attribute("mode", 5)})}, {function}));
  EXPECT_EQ(given.graph->nodes().front()->attributes.get<float>("by", 0), 2);
  EXPECT_EQ(given.graph->nodes().front()->attributes.get<int64_t>("mode", 0), 5);
  const ImportedModel absent = import(with({call("Scaled", {"x"}, {"y"})}, {function}));
  EXPECT_FALSE(absent.graph->nodes().front()->attributes.contains("by"));
  EXPECT_EQ(absent.graph->nodes().front()->attributes.get<int64_t>("mode", 0), 4);
}

TEST(ImportFunction, AttributeReferencesReachNestedCallsAndBodies) {
  const NodeSpec scale{"Scale", {"a"}, {"r"}, {reference_attribute("by", 1, "inner")}, "", "test"};
  const FunctionSpec inner{
      .domain = "local",
      .name = "Inner",
      .inputs = {"a"},
      .outputs = {"r"},
      .attributes = {"inner"},
      .nodes = {{"Body",
                 {},
                 {"r"},
                 {graph_attribute("body", graph({.nodes = {scale}, .outputs = {value_info("r", "")}}))},
                 "",
                 "test"}}};
  const FunctionSpec outer{
      .domain = "local",
      .name = "Outer",
      .inputs = {"a"},
      .outputs = {"r"},
      .attributes = {"outer"},
      .nodes = {call("Inner", {"a"}, {"r"}, {reference_attribute("inner", 1, "outer")})}};
  const ImportedModel m =
      import(with({call("Outer", {"x"}, {"y"}, {float_attribute("outer", 3)})}, {outer, inner}));
  EXPECT_EQ(m.graph->nodes().front()->subgraphs()[0]->nodes().front()->attributes.get<float>("by", 0), 3);
}

TEST(ImportFunction, OverloadsAndOpsetsAreTheFunctionsOwn) {
  FunctionSpec old{.domain = "local",
                   .name = "F",
                   .inputs = {"a"},
                   .outputs = {"r"},
                   .nodes = {{"Widen", {"a"}, {"r"}, {ints_attribute("axes", {1})}, "", "test"}},
                   .opsets = {{"test", 1}},
                   .overload = "old"};
  FunctionSpec other = twice();
  other.name = "F";
  NodeSpec node = call("F", {"x"}, {"y"});
  node.overload = "old";
  const ImportedModel m = import(with({node}, {other, old}));
  EXPECT_EQ(m.graph->nodes().front()->op, "Widen");
  EXPECT_EQ(m.graph->nodes().front()->input(1)->constant->to_int64s(), Ints{1});
}

TEST(ImportFunction, InputsMayBeLeftOutAndHandedThrough) {
  const FunctionSpec function{.domain = "local",
                              .name = "F",
                              .inputs = {"a", "b"},
                              .outputs = {"r", "a"},
                              .nodes = {{"Copy", {"a", "b"}, {"r"}, {}, "", "test"}}};
  ModelSpec spec = with({call("F", {"x"}, {"y", "z"})}, {function});
  spec.graph.outputs.push_back(value_info("z", ""));
  const ImportedModel m = import(spec);
  EXPECT_EQ(m.graph->nodes().front()->inputs().size(), 1u);
  EXPECT_EQ(m.graph->nodes().back()->op, "Identity");
  EXPECT_EQ(m.graph->outputs()[1]->name, "z");
}

TEST(ImportFunction, ConstantsInBodies) {
  const FunctionSpec function{
      .domain = "local",
      .name = "F",
      .inputs = {"a"},
      .outputs = {"r"},
      .attributes = {"c"},
      .nodes = {{"Constant", {}, {"k"}, {reference_attribute("value_float", 1, "c")}, "", ""},
                copy("k", "r")}};
  const ImportedModel m = import(with({call("F", {"x"}, {"y"}, {float_attribute("c", 9)})}, {function}));
  EXPECT_EQ(m.graph->find_value("call/k")->constant->to_doubles(), std::vector<double>{9});
}

TEST(ImportFunction, RecursionIsAnError) {
  const FunctionSpec f{.domain = "local",
                       .name = "F",
                       .inputs = {"a"},
                       .outputs = {"r"},
                       .nodes = {call("G", {"a"}, {"r"}, {}, "g")}};
  const FunctionSpec g{.domain = "local",
                       .name = "G",
                       .inputs = {"a"},
                       .outputs = {"r"},
                       .nodes = {call("F", {"a"}, {"r"}, {}, "f")}};
  EXPECT_EQ(error_of(with({call("F", {"x"}, {"y"})}, {f, g})),
            "local.F 'call/g/f': expected functions that do not call themselves, found a call of itself");
}

TEST(ImportFunction, GrowthIsBounded) {
  // Thirty functions, each calling the following one twice: 2^30 nodes.
  std::vector<FunctionSpec> functions;
  for (int i = 0; i < 30; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    functions.push_back({.domain = "local",
                         .name = "F" + std::to_string(i),
                         .inputs = {"a"},
                         .outputs = {"r"},
                         .nodes = {call(next, {"a"}, {"t"}), call(next, {"t"}, {"r"})}});
  }
  functions.push_back(
      {.domain = "local", .name = "F30", .inputs = {"a"}, .outputs = {"r"}, .nodes = {copy("a", "r")}});
  const std::string error = error_of(with({call("F0", {"x"}, {"y"})}, functions));
  EXPECT_NE(error.find("expected at most 262144 nodes from functions, found more"), std::string::npos)
      << error.substr(0, 500);
}

TEST(ImportFunction, CallsAreChecked) {
  EXPECT_EQ(error_of(with({call("Twice", {"x", "x"}, {"y"})}, {twice()})),
            "local.Twice 'call': expected at most 1 inputs and 1 outputs as the function has, found 2 and 1");
  EXPECT_EQ(error_of(with({call("Twice", {"x"}, {"y"})}, {twice(), twice()})),
            "function 'Twice': expected one function of that domain, name and overload, found several");
  FunctionSpec empty{.domain = "local", .name = "F", .inputs = {"a"}, .outputs = {"r"}};
  EXPECT_EQ(error_of(with({call("F", {"x"}, {"y"})}, {empty})),
            "local.F 'call': expected the function to give 'r', found no node that does");
  FunctionSpec wrong{.domain = "local",
                     .name = "F",
                     .inputs = {"a"},
                     .outputs = {"r"},
                     .attributes = {"c"},
                     .nodes = {{"Scale", {"a"}, {"r"}, {reference_attribute("by", 1, "c")}, "s", "test"}}};
  EXPECT_EQ(error_of(with({call("F", {"x"}, {"y"}, {int_attribute("c", 1)})}, {wrong})),
            "test.Scale 'call/s': attribute 'by': expected a value of kind float, found int");
}

}  // namespace
}  // namespace wootz
