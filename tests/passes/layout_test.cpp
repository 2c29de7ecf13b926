// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/assign_layouts.h"
#include "passes/layout/min_cut.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

/// One line a node: `op -> layout`.
std::string summary(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes())
    text += node->op + (node->output(0)->layout == Layout::kChannelsLast ? " last\n" : " rows\n");
  return text;
}

void check_layouts(const std::string& name, const std::string& text, const std::string& expected) {
  SCOPED_TRACE(name);
  const auto original = read_graph(text), graph = read_graph(text);
  PassContext context(test_target(), {});
  run_pass(*graph, assign_layouts(), context);
  EXPECT_EQ(summary(*graph), expected);
  EXPECT_FALSE(run_pass(*graph, assign_layouts(), context) && summary(*graph) != expected);
  expect_same_results(*original, *graph, 0);
}

const std::string kHead =
    "graph(%x: float32[1,32,20,20]) -> (%y) {\n%w: float32[32,32,5,5] = constant splat 0.01\n";

TEST(AssignLayouts, ConversionsOnlyAtTheBorders) {
  check_layouts("convolutions with a residual",
                kHead +
                    "%a = Conv(%x, %w) {pads=[2,2,2,2]}\n%b = Relu(%a)\n%c = Conv(%b, %w) "
                    "{pads=[2,2,2,2]}\n%d = Add(%c, %b)\n%y = GlobalAveragePool(%d)\n}",
                "Relayout last\nConv last\nRelu last\nConv last\nAdd last\nGlobalAveragePool last\n");
  check_layouts("a result in row-major order", kHead + "%a = Conv(%x, %w) {pads=[2,2,2,2]}\n%y = Relu(%a)\n}",
                "Relayout last\nConv last\nRelu last\nRelayout rows\n");
  check_layouts("no convolution, no change",
                kHead + "%a = Relu(%x)\n%y = MaxPool(%a) {kernel_shape=[2,2]}\n}",
                "Relu rows\nMaxPool rows\n");
}

TEST(AssignLayouts, TransposesReadChannelsLast) {
  check_layouts("to channels last",
                kHead + "%a = Conv(%x, %w) {pads=[2,2,2,2]}\n%y = Transpose(%a) {perm=[0,2,3,1]}\n}",
                "Relayout last\nConv last\nTranspose rows\n");
}

TEST(AssignLayouts, OneConversionServesAllReaders) {
  check_layouts("two readers in row-major order",
                "graph(%x: float32[1,32,20,20]) -> (%y, %z) {\n%w: float32[32,32,5,5] = constant splat "
                "0.01\n%s: int64[2] = constant [32, 400]\n"
                "%a = Conv(%x, %w) {pads=[2,2,2,2]}\n%y = Reshape(%a, %s)\n%t = Softmax(%a) {axis=3}\n%z = "
                "Reshape(%t, %s)\n}",
                "Relayout last\nConv last\nRelayout rows\nReshape rows\nSoftmax rows\nReshape rows\n");
}

TEST(MinCut, FindsTheLeastCost) {
  MinCut cut;
  const int a = cut.add_variable(), b = cut.add_variable(), c = cut.add_variable();
  cut.cost_if_false(a, 3);
  cut.cost_if_true(c, 2);
  cut.cost_if_true_false(a, b, 1);
  cut.cost_if_true_false(b, c, 5);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false, false}));
}

TEST(MinCut, TiesGoToFalse) {
  MinCut cut;
  const int a = cut.add_variable();
  cut.cost_if_false(a, 1);
  cut.cost_if_true(a, 1);
  EXPECT_EQ(cut.solve(), std::vector<bool>{false});
}

}  // namespace
}  // namespace wootz::pass_tests
