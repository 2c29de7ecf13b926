// SPDX-License-Identifier: Apache-2.0
#include "passes/flatten_volumes.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string numbers(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string((i * 7 % 11) - 4);
  return text + "]";
}

std::string constant(const std::string& name, const std::string& dims, int count) {
  return "%" + name + ": float32[" + dims + "] = constant " + numbers(count) + "\n";
}

/// Whether no convolution of volumes is left, and the results are the same.
void expect_flat(const std::string& text, bool is_flat = true) {
  SCOPED_TRACE(text);
  const std::unique_ptr<Graph> original = read_graph(text), graph = read_graph(text);
  PassContext context(test_target(), {});
  EXPECT_EQ(run_pass(*graph, flatten_volumes(), context), is_flat);
  for (const auto& node : graph->nodes())
    EXPECT_TRUE(!node->is("Conv") || (node->input(0)->type.rank() == 4) == is_flat);
  PassContext again(test_target(), {});
  EXPECT_FALSE(run_pass(*graph, flatten_volumes(), again));
  expect_same_results(*original, *graph, 1e-5);
}

std::string conv(const std::string& x, const std::string& attributes, const std::string& w = "3,2,2,3,2",
                 int count = 72) {
  return "graph(%x: float32[" + x + "]) -> (%y) {\n" + constant("w", w, count) + constant("b", "3", 3) +
         "%y = Conv(%x, %w, %b)" + (attributes.empty() ? "" : " {" + attributes + "}") + "\n}";
}

TEST(FlattenVolumes, OneSliceIsAPicture) {
  check_case(
      flatten_volumes(),
      {"depth 1",
       "graph(%x: float32[n,2,1,h,4]) -> (%y) {\n" + constant("w", "1,2,1,3,1", 6) +
           "%y = Conv(%x, %w) {pads=[0, 1, 0, 0, 1, 0]}\n}",
       "graph(%x: float32[n,2,1,h,4]) -> (%y) {\n" + constant("w", "1,2,3,1", 6) +
           "%s: int64[4] = symbolic [n, 2, h, 4]\n%t: int64[5] = symbolic [n, 1, 1, h, 4]\n"
           "%p = Reshape(%x, %s) {allowzero=1}\n"
           "%c = Conv(%p, %w) {kernel_shape=[3, 1], strides=[1, 1], dilations=[1, 1], pads=[1, 0, 1, 0], "
           "group=1}\n%y = Reshape(%c, %t) {allowzero=1}\n}"});
}

TEST(FlattenVolumes, TapsAlongTheDepthBecomeChannels) {
  expect_flat(conv("n,2,5,6,h", ""));
  expect_flat(conv("n,2,5,6,4", "pads=[1, 1, 1, 1, 1, 1]"));
  expect_flat(conv("2,2,5,6,4", "strides=[2, 1, 2], pads=[0, 2, 0, 1, 0, 1]"));
  expect_flat(conv("2,2,5,6,4", "dilations=[3, 1, 2], auto_pad=\"VALID\""));
  expect_flat(conv("n,2,2,6,4", ""));                                                   // one slice left
  expect_flat(conv("n,6,4,6,4", "group=3, pads=[0, 1, 0, 0, 0, 1]", "3,2,1,3,2", 36));  // slices stay apart
}

TEST(FlattenVolumes, NearMisses) {
  expect_flat(conv("n,2,d,6,4", ""), false);         // slices without number
  expect_flat(conv("n,6,5,6,4", "group=3"), false);  // taps and groups
  expect_flat(conv("n,2,5,6,4", "auto_pad=\"SAME_UPPER\""), false);
  expect_flat("graph(%x: float32[n,2,3,4,4], %w: float32[3,2,2,2,2]) -> (%y) {\n%y = Conv(%x, %w)\n}", false);
}

}  // namespace
}  // namespace wootz::pass_tests
