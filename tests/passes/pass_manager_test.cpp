// SPDX-License-Identifier: Apache-2.0
#include "passes/pass_manager.h"

#include <unistd.h>

#include <filesystem>

#include "passes/pattern/rule.h"
#include "passes/simplify_algebra.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

const char* kTwoRewrites =
    "graph(%x: float32[n,4]) -> (%y) {\n%one: float32[] = constant 1\n%a = Mul(%x, %one)\n%b = Relu(%a)\n%c "
    "= Div(%b, %one)\n%y = Relu(%c)\n}";

TEST(PassManager, StopsAfterTheGivenNumberOfChanges) {
  for (int64_t limit = 0; limit <= 3; ++limit) {
    const auto graph = read_graph(kTwoRewrites);
    PassOptions options;
    options.max_patches = limit;
    PassContext context(test_target(), options);
    run_pass(*graph, simplify_algebra(), context);
    EXPECT_EQ(graph->node_count(), size_t(4 - std::min<int64_t>(limit, 2))) << limit;
  }
}

TEST(PassManager, DisablesPassesAndRulesByName) {
  for (const char* name : {"simplify_algebra", "x * 1 => x"}) {
    const auto graph = read_graph(kTwoRewrites);
    PassOptions options;
    options.disabled = {name};
    PassContext context(test_target(), options);
    run_pass(*graph, simplify_algebra(), context);
    EXPECT_EQ(graph->node_count(), std::string(name) == "simplify_algebra" ? 4u : 3u);
  }
}

TEST(PassManager, MergesOriginsAndKeepsOutputNames) {
  const auto graph = read_graph(
      "graph(%x: float32[n]) -> (%y) {\n%two: float32[] = constant 2\n%z = Relu(%x)\n%y = Pow(%z, %two) ; "
      "from pow_7\n}");
  graph->nodes().back()->origins = {"pow_7"};
  PassContext context(test_target(), {});
  run_pass(*graph, simplify_algebra(), context);
  EXPECT_EQ(graph->outputs()[0]->name, "y");
  EXPECT_EQ(graph->nodes().back()->op, "Mul");
  EXPECT_EQ(graph->nodes().back()->origins, std::vector<std::string>{"pow_7"});
  EXPECT_EQ(context.rule_counts.at("x ^ 2 => x * x"), 1);
}

bool break_graph(Graph& graph, PassContext&) {
  graph.nodes().front()->op.clear();
  return true;
}

TEST(PassManager, NamesThePassThatBreaksTheGraphAndSavesIt) {
  const auto graph = read_graph(kTwoRewrites);
  PassOptions options;
  options.dump_folder = ::testing::TempDir() + "wootz_pass_manager_" + std::to_string(::getpid());
  PassContext context(test_target(), options);
  try {
    run_pass(*graph, {"break_graph", "Breaks.", break_graph}, context);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("pass break_graph"), std::string::npos) << e.message();
  }
  EXPECT_TRUE(std::filesystem::exists(options.dump_folder + "/wootz-failed-break_graph.txt"));
  std::filesystem::remove_all(options.dump_folder);
}

TEST(Pattern, BindsVariablesLabelsAndAlternatives) {
  const auto graph = read_graph(
      "graph(%x: float32[n], %z: float32[n]) -> (%y) {\n%h: float32[] = constant 0.5\n%a = Mul(%h, %x)\n%y = "
      "Add(%z, %a)\n}");
  Node& root = *graph->nodes().back();
  const auto match = Pattern("Add(product:Mul(x, $c)|Div(x, $c), z)").match(root);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->value("x")->name, "x");
  EXPECT_EQ(match->value("z")->name, "z");
  EXPECT_EQ(match->number("c"), 0.5);
  EXPECT_EQ(match->node("product")->op, "Mul");
  EXPECT_FALSE(Pattern("Add(Mul(x, 0.25), z)").match(root));
  EXPECT_FALSE(Pattern("Add(Mul(x, 0.5), x)").match(root)) << "one name, two values";
  EXPECT_FALSE(Pattern("Add(x)").match(root)) << "fewer inputs";
  EXPECT_TRUE(Pattern("Add(x, ..)").match(root));
  EXPECT_THROW(Pattern("Add(x"), Error);
}

}  // namespace
}  // namespace wootz::pass_tests
