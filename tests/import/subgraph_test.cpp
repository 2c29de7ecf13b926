// SPDX-License-Identifier: Apache-2.0
// Captures, shadowing and name clashes of graphs inside nodes.
#include <gtest/gtest.h>

#include "tests/import/graph_lines.h"
#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;
using test_ops::import;
using test_ops::lines_of;
using Lines = std::vector<std::string>;

NodeSpec copy(const std::string& from, const std::string& to) {
  return {"Copy", {from}, {to}, {}, "", "test"};
}
NodeSpec body_node(const GraphSpec& body, const std::string& output) {
  return {"Body", {}, {output}, {graph_attribute("body", graph(body))}, "", "test"};
}

ModelSpec with_nodes(const std::vector<NodeSpec>& nodes) {
  ModelSpec spec;
  spec.graph.nodes = nodes;
  spec.graph.inputs = {float_info("x", {2})};
  spec.graph.outputs = {value_info("y", "")};
  return spec;
}

TEST(ImportSubgraph, ReadsValuesOfTheGraphsAround) {
  const GraphSpec inner{.nodes = {{"Add", {"x", "t"}, {"s"}, {}, "", "test"}},
                        .outputs = {value_info("s", "")}};
  const GraphSpec outer{.nodes = {body_node(inner, "o")}, .outputs = {value_info("o", "")}};
  EXPECT_EQ(lines_of(*import(with_nodes({copy("x", "t"), body_node(outer, "y")})).graph),
            (Lines{"t:float32[2] = test.Copy(x:float32[2])", "y:float32[2] = test.Body() {",
                   "  o:float32[2] = test.Body() {",
                   "    s:float32[2] = test.Add(x:float32[2], t:float32[2])", "  } -> s", "} -> o"}));
}

TEST(ImportSubgraph, OriginsHoldThePathOfNodes) {
  const GraphSpec inner{.nodes = {copy("x", "s")}, .outputs = {value_info("s", "")}};
  const ImportedModel m = import(with_nodes({copy("x", "t"), body_node(inner, "y")}));
  const Node& body = *m.graph->nodes().back();
  EXPECT_EQ(body.origins, Strings{"Body#1"});
  EXPECT_EQ(body.subgraphs()[0]->nodes().front()->origins, Strings{"Body#1/Copy#0"});
}

TEST(ImportSubgraph, InnerNamesShadowOuterOnes) {
  // The inner `t` is read after it is written; the `t` before that is the outer one.
  const GraphSpec inner{.nodes = {copy("t", "u"), {"Add", {"u", "x"}, {"t"}, {}, "", "test"}, copy("t", "s")},
                        .outputs = {value_info("s", "")}};
  EXPECT_EQ(lines_of(*import(with_nodes({copy("x", "t"), body_node(inner, "y")})).graph),
            (Lines{"t:float32[2] = test.Copy(x:float32[2])", "y:float32[2] = test.Body() {",
                   "  u:float32[2] = test.Copy(t:float32[2])",
                   "  t_2:float32[2] = test.Add(u:float32[2], x:float32[2])",
                   "  s:float32[2] = test.Copy(t_2:float32[2])", "} -> s"}));
}

TEST(ImportSubgraph, BranchesMayUseTheSameNames) {
  const GraphSpec inner{.nodes = {copy("x", "s")}, .outputs = {value_info("s", "")}};
  ModelSpec spec =
      with_nodes({body_node(inner, "a"), body_node(inner, "b"), {"Add", {"a", "b"}, {"y"}, {}, "", "test"}});
  EXPECT_EQ(lines_of(*import(spec).graph),
            (Lines{"a:float32[2] = test.Body() {", "  s:float32[2] = test.Copy(x:float32[2])", "} -> s",
                   "b:float32[2] = test.Body() {", "  s_2:float32[2] = test.Copy(x:float32[2])", "} -> s_2",
                   "y:float32[2] = test.Add(a:float32[2], b:float32[2])"}));
}

TEST(ImportSubgraph, NodesWaitForWhatTheirBodiesRead) {
  const GraphSpec inner{.nodes = {copy("late", "s")}, .outputs = {value_info("s", "")}};
  EXPECT_EQ(lines_of(*import(with_nodes({body_node(inner, "y"), copy("x", "late")})).graph)[0],
            "late:float32[2] = test.Copy(x:float32[2])");
}

TEST(ImportSubgraph, BodiesHaveInputsInitializersAndDeclaredTypes) {
  const GraphSpec inner{.nodes = {{"Add", {"i", "w"}, {"s"}, {}, "", "test"}},
                        .inputs = {float_info("i", {2})},
                        .outputs = {value_info("s", "")},
                        .initializers = {float_tensor("w", {2}, {1, 2})}};
  const ImportedModel m = import(with_nodes({body_node(inner, "y")}));
  EXPECT_EQ(lines_of(*m.graph)[1], "  s:float32[2] = test.Add(i:float32[2], w:float32[2])");
  EXPECT_EQ(m.graph->nodes().front()->subgraphs()[0]->inputs().size(), 1u);
}

TEST(ImportSubgraph, ProblemsInBodiesNameTheNodesAround) {
  const GraphSpec inner{.nodes = {{"Copy", {"nothing"}, {"s"}, {}, "inner", "test"}},
                        .outputs = {value_info("s", ""), value_info("q", "")}};
  ModelSpec spec = with_nodes({body_node(inner, "y")});
  EXPECT_EQ(
      test_ops::error_of(spec),
      "2 problems\n"
      "  test.Copy 'Body#0/inner': expected an input, initializer or node that gives 'nothing', found none\n"
      "  in Body#0 output 'q': expected a node, an input or an initializer that gives it, found none; the "
      "model is cut wrongly "
      "or the name is misspelt");
}

}  // namespace
}  // namespace wootz
