// SPDX-License-Identifier: Apache-2.0
// The whole pipeline ends by itself, in few changes, on graphs in which rules could take turns for ever.
#include "compiler/pipeline.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

/// Changes that the pipeline made; fails when a pass or the phases had to be stopped.
int64_t changes_of(const std::string& text, bool channels_last) {
  const auto original = read_graph(text), graph = read_graph(text);
  TargetTraits target = test_target();
  target.prefers_channels_last = channels_last;
  PassContext context(target, {});
  run_pipeline(*graph, context);
  for (const Remark& r : context.remarks)
    EXPECT_NE(r.text.substr(0, 13), "stopped after") << r.pass << ": " << r.text << "\n" << text;
  expect_same_results(*original, *graph, 1e-4);
  return context.patches;
}

void expect_few_changes(const std::string& text) {
  const auto nodes = static_cast<int64_t>(read_graph(text)->node_count());
  for (const bool channels_last : {false, true})
    EXPECT_LE(changes_of(text, channels_last), 8 * nodes) << text;
}

TEST(Termination, PointwiseNodesOfTwoShapesMeet) {
  // As the losses' bodies write it: both operands are pointwise, one with an axis more.
  expect_few_changes(
      "graph(%x: float32[3,1,6,5], %m: bool[3,1,6,5]) -> (%y) {\n%axes: int64[1] = constant [1]\n%zero: "
      "float32[1] = constant [0]\n%one: float32[1] = constant [1]\n%a = Where(%m, %zero, %x)\n%n = "
      "Neg(%a)\n%u "
      "= Squeeze(%n, %axes)\n%s = Squeeze(%m, %axes)\n%w = Where(%s, %zero, %one)\n%y = Mul(%u, %w)\n}");
}

TEST(Termination, ContractionsOfTwoShapesMeet) {
  const std::string head =
      "graph(%x: float32[n,3,4], %z: float32[n,2,6]) -> (%y) {\n%w: float32[4,4] = constant splat 0.5\n%v: "
      "float32[6,6] = constant splat 0.25\n%s: int64[3] = symbolic [n, 2, 6]\n%t: int64[3] = symbolic [n, 3, "
      "4]\n%q: int64[2] = symbolic [n, 12]\n%a = MatMul(%x, %w)\n%b = MatMul(%z, %v)\n";
  expect_few_changes(head + "%c = Reshape(%a, %s) {allowzero=1}\n%y = Add(%c, %b)\n}");
  expect_few_changes(head +
                     "%c = Reshape(%a, %q) {allowzero=1}\n%d = Reshape(%b, %q) {allowzero=1}\n%e = Mul(%c, "
                     "%d)\n%y = Relu(%e)\n}");
  std::string chain = head + "%c = Relu(%a)\n%d = Tanh(%b)\n%e0 = Reshape(%c, %s) {allowzero=1}\n";
  for (int i = 0; i < 40; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    chain += i % 2 ? "%g" + from + " = Mul(%e" + from + ", %z)\n%e" + to + " = Reshape(%g" + from +
                         ", %s) {allowzero=1}\n"
                   : "%g" + from + " = Reshape(%e" + from + ", %t) {allowzero=1}\n%h" + from + " = Add(%g" +
                         from + ", %x)\n%e" + to + " = Reshape(%h" + from + ", %s) {allowzero=1}\n";
  }
  expect_few_changes(chain + "%y = Add(%e40, %d)\n}");
}

TEST(Termination, ProductsInTwoOrdersMeet) {
  const std::string first = " {perm=[0,3,1,2]}\n", last = " {perm=[0,2,3,1]}\n";
  for (const std::string& other : {first, last})
    expect_few_changes(
        "graph(%x: float32[n,4,4,4], %z: float32[n,4,4,4]) -> (%y) {\n%w: float32[4,4] = constant splat "
        "0.5\n%a = MatMul(%x, %w)\n%b = MatMul(%z, %w)\n%c = Transpose(%a)" +
        first + "%d = Transpose(%b)" + other + "%e = Add(%c, %d)\n%f = Mul(%e, %c)\n%y = Transpose(%f)" +
        last + "}");
}

bool flip(Graph& graph, PassContext& context) {
  bool changed = false;
  while (context.allow_patch("flip")) {
    std::string& op = graph.nodes().front()->op;
    op = op == "Sin" ? "Cos" : "Sin";
    changed = true;
  }
  return changed;
}

TEST(Termination, APassWithoutEndIsStoppedAndSaysSo) {
  const auto graph = read_graph("graph(%x: float32[n]) -> (%y) {\n%y = Sin(%x)\n}");
  PassContext context(test_target(), {});
  const Pass passes[] = {{"flip", "Flips.", flip}};
  run_passes(*graph, passes, true, context);
  EXPECT_EQ(context.patches, 16 * (kMostChanges + kMostChangesPerNode));
  ASSERT_EQ(context.remarks.size(), 17u);
  EXPECT_EQ(context.remarks.front().text, "stopped after 272 changes: rules undo each other");
  EXPECT_EQ(context.remarks.back().text, "stopped after 16 rounds: passes undo each other");
}

}  // namespace
}  // namespace wootz::pass_tests
