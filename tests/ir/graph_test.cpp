// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace wootz {
namespace {

const Type kType = Type::tensor(DType::kFloat32, {2});

std::vector<std::string> order(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node->op);
  return names;
}

TEST(Graph, InputsKeepUses) {
  Graph g;
  Value* x = g.add_input("x", kType);
  Value* y = g.add_input("y", kType);
  Node* add = g.add_node("Add", {x, x});
  EXPECT_EQ(x->uses().size(), 2u);
  add->set_input(1, y);
  EXPECT_EQ(x->uses().size(), 1u);
  ASSERT_EQ(y->uses().size(), 1u);
  EXPECT_EQ(y->uses()[0], (Use{add, 1}));
  add->add_input(nullptr);
  add->resize_inputs(1);
  EXPECT_TRUE(y->uses().empty());
  add->resize_inputs(3);
  EXPECT_EQ(add->input(2), nullptr);
  EXPECT_EQ(add->input(7), nullptr);
  add->add_output("z", kType);
  verify_graph(g, "test");
}

TEST(Graph, ReplaceUsesReachesOutputs) {
  const auto g = graph_from_text("graph(%x: float32[2]) -> (%a, %b, %a) { %a = Neg(%x)  %b = Mul(%a, %a) }");
  Value* a = g->find_value("a");
  g->replace_uses(a, g->inputs()[0]);
  EXPECT_TRUE(a->uses().empty());
  EXPECT_EQ(g->outputs()[0], g->inputs()[0]);
  EXPECT_EQ(g->outputs()[2], g->inputs()[0]);
  g->erase(a->producer());
  g->erase_unused_values();
  EXPECT_EQ(to_text(*g), "graph(%x: float32[2]) -> (%x, %b, %x) {\n  %b = Mul(%x, %x)\n}\n");
  verify_graph(*g, "test");
}

TEST(Graph, EraseKeepsReadValues) {
  const auto g =
      graph_from_text("graph(%x: float32[2]) -> (%y) { %c: float32[] = constant 2  %y = Mul(%x, %c) }");
  Node* mul = g->outputs()[0]->producer();
  mul->set_input(1, g->inputs()[0]);
  g->erase_unused_values();
  EXPECT_EQ(g->find_value("c"), nullptr);
  EXPECT_NE(g->find_value("x"), nullptr);
}

TEST(Graph, EraseRefusesAProducerInUse) {
  const auto g = graph_from_text("graph(%x: float32[2]) -> (%y) { %a = Neg(%x)  %y = Neg(%a) }");
  EXPECT_THROW(g->erase(g->find_value("a")->producer()), Error);
}

TEST(Graph, AdoptOutputMovesAValue) {
  const auto g = graph_from_text("graph(%x: float32[2]) -> (%y) { %y = Neg(%x) }");
  Value* y = g->outputs()[0];
  Node* old = y->producer();
  Node* replacement = g->add_node("Abs", {g->inputs()[0]}, old);
  old->adopt_output(0, nullptr);
  replacement->adopt_output(0, y);
  g->erase(old);
  EXPECT_EQ(to_text(*g), "graph(%x: float32[2]) -> (%y) {\n  %y = Abs(%x)\n}\n");
  verify_graph(*g, "test");
}

TEST(Graph, UniqueNames) {
  Graph g;
  g.add_input("x", kType);
  g.add_input("x_1", kType);
  EXPECT_EQ(g.unique_name("y"), "y");
  EXPECT_EQ(g.unique_name("x"), "x_2");
  EXPECT_EQ(g.unique_name(""), "_1");
}

TEST(Graph, SortsProducersFirstAndStably) {
  const auto g =
      graph_from_text("graph(%x: float32[2]) -> (%d) { %a = A(%x)  %b = B(%x)  %c = C(%a)  %d = D(%c, %b) }");
  EXPECT_TRUE(g->sort_topologically());
  EXPECT_EQ(order(*g), (std::vector<std::string>{"A", "B", "C", "D"}));
  g->move_before(g->find_value("a")->producer(), nullptr);
  EXPECT_THROW(verify_graph(*g, "test"), Error);
  EXPECT_TRUE(g->sort_topologically());
  EXPECT_EQ(order(*g), (std::vector<std::string>{"B", "A", "C", "D"}));
  verify_graph(*g, "test");
}

TEST(Graph, SortSeesCaptures) {
  const auto g = graph_from_text(R"(graph(%x: float32[2], %c: bool[]) -> (%y) {
    %a = A(%x)
    %y = If(%c) {then_branch=graph() -> (%t) { %t = T(%a) }, else_branch=graph() -> (%e) { %e = E(%x) }}
  })");
  g->move_before(g->find_value("a")->producer(), nullptr);
  EXPECT_TRUE(g->sort_topologically());
  EXPECT_EQ(order(*g), (std::vector<std::string>{"A", "If"}));
}

TEST(Graph, SortFindsCycles) {
  const auto g = graph_from_text("graph(%x: float32[2]) -> (%b) { %a = A(%x)  %b = B(%a) }");
  g->find_value("a")->producer()->set_input(0, g->find_value("b"));
  EXPECT_FALSE(g->sort_topologically());
}

TEST(Graph, SortsLongChains) {
  Graph g;
  Value* v = g.add_input("x", kType);
  Node* first = nullptr;
  for (int i = 0; i < 100000; ++i) {
    Node* node = g.add_node("Neg", {v}, first);  // each before the one that it reads
    v = node->add_output("", kType);
    first = node;
  }
  g.add_output(v);
  EXPECT_TRUE(g.sort_topologically());
  verify_graph(g, "test");
}

constexpr const char* kNested = R"(graph main(%x: float32[n], %c: bool[]) -> (%y) {
  %k: float32[] = constant 3
  %a = Neg(%x) {list=graphs [graph() -> (%q) { %q = Q(%x) }]}
  %y = If(%c) {then_branch=graph() -> (%t) {
    %t = If(%c) {then_branch=graph() -> (%u) { %u = Mul(%a, %k) }}
  }} named chooser
})";

TEST(Graph, CapturesInOrderOfFirstUse) {
  const auto g = graph_from_text(kNested);
  const Graph* branch = g->outputs()[0]->producer()->subgraphs()[0];
  const std::vector<Value*> found = captures(*branch);
  EXPECT_EQ(found, (std::vector<Value*>{g->find_value("c"), g->find_value("a"), g->find_value("k")}));
  EXPECT_TRUE(captures(*g).empty());
}

TEST(Graph, InnerUsesAreRecordedAndDropped) {
  const auto g = graph_from_text(kNested);
  Value* a = g->find_value("a");
  ASSERT_EQ(a->uses().size(), 1u);
  EXPECT_EQ(a->uses()[0].node->op, "Mul");
  Node* chooser = g->outputs()[0]->producer();
  g->clear_outputs();
  g->erase(chooser);
  EXPECT_TRUE(a->uses().empty());
}

TEST(Graph, CloneIsDeep) {
  const auto g = graph_from_text(kNested);
  std::vector<std::pair<const Value*, Value*>> map;
  const auto copy = g->clone(std::make_shared<SymbolTable>(g->symbols()), nullptr, {}, &map);
  EXPECT_EQ(to_text(*copy), to_text(*g));
  verify_graph(*copy, "clone");
  verify_graph(*g, "clone");
  EXPECT_EQ(map.size(), 8u);  // of the graph and of its subgraphs
  EXPECT_NE(copy->outputs()[0]->producer()->subgraphs()[0], g->outputs()[0]->producer()->subgraphs()[0]);
  EXPECT_EQ(copy->find_value("k")->constant, g->find_value("k")->constant);
}

TEST(Graph, CloneMapsCaptures) {
  const auto g = graph_from_text(kNested);
  const Graph* branch = g->outputs()[0]->producer()->subgraphs()[0];
  Value* other = g->add_input("other", kType);
  const auto same = branch->clone(g->shared_symbols(), g.get());
  EXPECT_EQ(captures(*same), captures(*branch));
  const auto moved =
      branch->clone(g->shared_symbols(), g.get(), [&](Value* v) { return v->name == "a" ? other : v; });
  EXPECT_EQ(captures(*moved), (std::vector<Value*>{g->find_value("c"), other, g->find_value("k")}));
}

TEST(Verify, NamesWhatIsWrong) {
  const auto message = [](const Graph& g) -> std::string {
    try {
      verify_graph(g, "my_pass");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInternal);
      return e.message();
    }
    return "";
  };
  const auto g =
      graph_from_text("graph(%x: float32[2]) -> (%y) { %k: float32[2] = constant [1, 2]  %y = Add(%x, %k) }");
  EXPECT_EQ(message(*g), "");
  Value* k = g->find_value("k");
  k->type = kType;
  k->type.dtype = DType::kInt32;
  EXPECT_NE(message(*g).find("after my_pass: %k: its type int32[2] is not that of its data"),
            std::string::npos);
  k->type.dtype = DType::kFloat32;
  k->contents = {Dim(1)};
  EXPECT_NE(message(*g).find("contents"), std::string::npos);
  k->contents.reset();
  k->layout = Layout::kChannelsLast;
  EXPECT_NE(message(*g).find("channels_last"), std::string::npos);
  k->layout = Layout::kRowMajor;
  Value* orphan = g->add_value("orphan", kType);
  EXPECT_EQ(message(*g), "");
  g->set_output(0, orphan);
  EXPECT_NE(message(*g).find("output %orphan is never written"), std::string::npos);
  g->set_output(0, nullptr);
  EXPECT_NE(message(*g).find("an output of the graph is null"), std::string::npos);
}

TEST(Verify, SubgraphsReadOnlyEnclosingGraphs) {
  const auto g = graph_from_text(
      "graph(%c: bool[]) -> (%y) { %y = If(%c) {then_branch=graph() -> (%t) { %t = T(%c) }} }");
  const auto other = graph_from_text("graph(%x: bool[]) -> (%x) {}");
  Node* inner = g->outputs()[0]->producer()->subgraphs()[0]->nodes().front().get();
  inner->set_input(0, other->inputs()[0]);
  EXPECT_THROW(verify_graph(*g, "test"), Error);
  inner->set_input(0, g->outputs()[0]);  // the If's own result
  EXPECT_THROW(verify_graph(*g, "test"), Error);
  inner->set_input(0, g->inputs()[0]);
  verify_graph(*g, "test");
}

}  // namespace
}  // namespace wootz
