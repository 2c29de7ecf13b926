// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "device/region.h"
#include "ir/text.h"
#include "memory/bind_shapes.h"
#include "memory/placement.h"
#include "memory/view.h"
#include "ops/infer.h"
#include "passes/fuse/fuse.h"
#include "passes/pass_manager.h"

namespace wootz {
namespace {

struct Laid {
  std::unique_ptr<Graph> graph;
  std::vector<StepSharing> sharing;
  ShapePlan plan;

  size_t step(std::string_view op) const {
    size_t i = 0;
    for (const auto& node : graph->nodes()) {
      if (region_body(*node).nodes().front()->op == op) return i;
      ++i;
    }
    ADD_FAILURE() << "no " << op;
    return 0;
  }
  const Node& node(std::string_view op) const {
    auto it = graph->nodes().begin();
    std::advance(it, static_cast<ptrdiff_t>(step(op)));
    return **it;
  }
  Sharing of(std::string_view op) const { return sharing[step(op)].kind; }
  const Placement& at(const Value* v) const { return plan.values[static_cast<size_t>(v->id())]; }
};

/// A graph of regions laid out for kernels that take any strides but those of nodes `row_major`.
Laid lay_out(const std::string& text, const std::string& row_major = "") {
  Laid laid{graph_from_text(text), {}, {}};
  infer_graph(*laid.graph);
  PassContext context({}, {});
  run_pass(*laid.graph, fuse(), context);
  const Bindings bindings(laid.graph->symbols());
  const ServesStep serves = [&](const Node& node, std::span<const TensorDesc>,
                                std::span<const TensorDesc> out) {
    return region_body(node).nodes().front()->op != row_major || out[0].is_row_major();
  };
  laid.sharing = choose_sharing(*laid.graph, bindings, serves);
  laid.plan = plan_shapes(*laid.graph, bindings, laid.sharing);
  return laid;
}

constexpr const char* kHeads =
    "graph(%q: float32[2,3,5,4], %k: float32[2,3,7,4], %v: float32[2,3,7,4], %w: float32[12,6]) -> (%y) {\n"
    "%s: int64[3] = constant [2, 5, 12]\n"
    "%a = wootz::Attention(%q, %k, %v) {is_causal=0, scale=1.0}\n%t = Transpose(%a) {perm=[0, 2, 1, 3]}\n"
    "%r = Reshape(%t, %s)\n%y = MatMul(%r, %w)\n}";

TEST(Sharing, AttentionWritesItsHeadsSideBySide) {
  const Laid laid = lay_out(kHeads);
  EXPECT_EQ(laid.of("Transpose"), Sharing::kIntoOutput);
  EXPECT_EQ(laid.of("Reshape"), Sharing::kIntoOutput);
  const Value* heads = laid.node("Attention").output(0);
  EXPECT_EQ(laid.at(heads).desc.strides, (Dims{60, 4, 12, 1}));
  EXPECT_EQ(laid.at(heads).offset_bytes, laid.at(laid.node("MatMul").input(0)).offset_bytes);
}

TEST(Sharing, AKernelThatCannotWriteSoKeepsTheCopy) {
  const Laid laid = lay_out(kHeads, "Attention");
  EXPECT_EQ(laid.of("Transpose"), Sharing::kView);
  EXPECT_EQ(laid.of("Reshape"), Sharing::kNone);
  EXPECT_TRUE(laid.at(laid.node("Attention").output(0)).desc.is_row_major());
}

TEST(Sharing, ValuesReadElsewhereAndProductsKeepTheirPlace) {
  const Laid read_twice = lay_out(
      "graph(%q: float32[2,3,5,4]) -> (%y, %z) {\n%s: int64[3] = constant [2, 5, 12]\n"
      "%a = Softmax(%q)\n%t = Transpose(%a) {perm=[0, 2, 1, 3]}\n%r = Reshape(%t, %s)\n%y = Softmax(%r)\n"
      "%z = Softmax(%a) {axis=1}\n}");
  EXPECT_EQ(read_twice.of("Reshape"), Sharing::kNone);
  const Laid product = lay_out(
      "graph(%q: float32[2,3,5,4], %w: float32[4,4]) -> (%y) {\n%s: int64[3] = constant [2, 5, 12]\n"
      "%a = MatMul(%q, %w)\n%t = Transpose(%a) {perm=[0, 2, 1, 3]}\n%r = Reshape(%t, %s)\n%y = "
      "Softmax(%r)\n}");
  EXPECT_EQ(product.of("Reshape"), Sharing::kNone);
  EXPECT_TRUE(product.at(product.node("MatMul").output(0)).desc.is_row_major());
}

constexpr const char* kScales =
    "graph(%p: float32[2,2,2,6], %q: float32[2,1,2,6]) -> (%y) {\n"
    "%s: int64[3] = constant [2, 8, 3]\n%t: int64[3] = constant [2, 4, 3]\n"
    "%a = Softmax(%p)\n%b = Softmax(%q)\n%c = Reshape(%a, %s)\n%d = Reshape(%b, %t)\n"
    "%y = Concat(%c, %d) {axis=1}\n}";

TEST(Sharing, KernelsBehindViewsWriteIntoTheConcat) {
  const Laid laid = lay_out(kScales);
  EXPECT_EQ(laid.of("Concat"), Sharing::kIntoOutput);
  EXPECT_EQ(laid.of("Reshape"), Sharing::kIntoOutput);
  for (size_t i : {0, 1}) {
    const Value* in = laid.node("Concat").input(i)->producer()->input(0);
    EXPECT_EQ(laid.at(in).kind, Placement::Kind::kOutput);
    EXPECT_EQ(laid.at(in).desc.strides.front(), 36);
    EXPECT_EQ(laid.at(in).offset_bytes, i * 24 * sizeof(float));
  }
  EXPECT_EQ(lay_out(kScales, "Softmax").of("Concat"), Sharing::kNone);
}

TEST(Sharing, WhatALargerBatchWouldLeaveWithoutAKernelIsNotWrittenIntoTheConcat) {
  const std::string heads =
      "graph(%x: float32[n,4,6,6], %w: float32[8,4,1,1], %v: float32[8,4,3,3]) -> (%y) {\n"
      "%s: int64[3] = constant [0, -1, 8]\n"
      "%a = Conv(%x, %w)\n%b = Transpose(%a) {perm=[0, 2, 3, 1]}\n%c = Reshape(%b, %s)\n"
      "%d = Conv(%x, %v)\n%e = Transpose(%d) {perm=[0, 2, 3, 1]}\n%f = Reshape(%e, %s)\n"
      "%y = Concat(%c, %f) {axis=1}\n}";
  Laid laid{graph_from_text(heads), {}, {}};
  infer_graph(*laid.graph);
  for (const auto& node : laid.graph->nodes())
    if (node->is("Conv")) node->output(0)->layout = Layout::kChannelsLast;
  PassContext context({}, {});
  run_pass(*laid.graph, fuse(), context);
  // As the kernels of the CPU: the pixels of all images lie evenly.
  const ServesStep serves = [](const Node& node, std::span<const TensorDesc>,
                               std::span<const TensorDesc> out) {
    return region_body(node).nodes().front()->op != "Conv" || out[0].dims[0] == 1 ||
           out[0].strides[0] == out[0].strides[2] * out[0].dims[2];
  };
  const std::vector<Dims> one = {{1, 4, 6, 6}, {8, 4, 1, 1}, {8, 4, 3, 3}},
                          two = {{2, 4, 6, 6}, one[1], one[2]};
  const Bindings single = bind_shapes(*laid.graph, one), pair = bind_shapes(*laid.graph, two);
  const size_t concat = laid.step("Concat");
  EXPECT_EQ(choose_sharing(*laid.graph, single, serves)[concat].kind, Sharing::kIntoOutput);
  EXPECT_EQ(choose_sharing(*laid.graph, single, serves, &pair)[concat].kind, Sharing::kNone);
}

TEST(Sharing, ProductsThatAConcatWouldPullApartKeepTheirRows) {
  const Laid laid = lay_out(
      "graph(%p: float32[2,4,6], %q: float32[2,2,6], %w: float32[6,6]) -> (%y) {\n"
      "%a = MatMul(%p, %w)\n%b = Softmax(%q)\n%c = Transpose(%a) {perm=[0, 2, 1]}\n"
      "%d = Transpose(%b) {perm=[0, 2, 1]}\n%y = Concat(%c, %d) {axis=2}\n}");
  EXPECT_EQ(laid.of("Concat"), Sharing::kNone);
  EXPECT_TRUE(laid.at(laid.node("MatMul").output(0)).desc.is_row_major());
}

TEST(Sharing, AReshapeThatTheCallerReadsIsWrittenInPlace) {
  const Laid laid = lay_out(
      "graph(%q: float32[2,3,5,4]) -> (%r) {\n%s: int64[3] = constant [2, 5, 12]\n"
      "%a = Softmax(%q)\n%t = Transpose(%a) {perm=[0, 2, 1, 3]}\n%r = Reshape(%t, %s)\n}");
  EXPECT_EQ(laid.of("Reshape"), Sharing::kIntoOutput);
  EXPECT_EQ(laid.at(laid.node("Softmax").output(0)).kind, Placement::Kind::kOutput);
}

}  // namespace
}  // namespace wootz
