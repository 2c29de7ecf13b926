// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/fuse.h"

#include "device/region.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

/// One line a region: `kind: Op Op ...`.
std::string summary(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) {
    if (!is_region(*node)) return "a node outside regions: " + node->op;
    text += node->attributes.require<std::string>("kind") + ":";
    for (const auto& inner : region_body(*node).nodes()) text += " " + inner->op;
    text += "\n";
  }
  return text;
}

struct FuseCase {
  std::string name, graph, regions;
  std::string remark;  // part of a reason that must be recorded
};

void check_fusion(const FuseCase& c) {
  SCOPED_TRACE(c.name);
  const std::unique_ptr<Graph> original = read_graph(c.graph), graph = read_graph(c.graph);
  PassContext context(test_target(), {});
  EXPECT_TRUE(run_pass(*graph, fuse(), context));
  EXPECT_EQ(summary(*graph), c.regions);
  bool told = c.remark.empty();
  for (const Remark& r : context.remarks) told |= r.text.find(c.remark) != std::string::npos;
  EXPECT_TRUE(told) << "no remark says: " << c.remark;
  EXPECT_FALSE(run_pass(*graph, fuse(), context)) << "a second run changed the graph";
  expect_same_results(*original, *graph, 1e-6);
}

std::string conv_graph(const std::string& body, const std::string& outputs = "%y") {
  return "graph(%x: float32[n,2,5,5], %r: float32[n,2,5,5]) -> (" + outputs +
         ") {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n"
         "%s: float32[2,1,1] = constant [2, 3]\n%h: float32[] = constant 0.5\n" +
         body + "\n}";
}

TEST(Fuse, ContractionTails) {
  for (const FuseCase& c : std::vector<FuseCase>{
           {"activation", conv_graph("%c = Conv(%x, %w)\n%y = Relu(%c)"), "contraction: Conv Relu\n", ""},
           {"residual and activation", conv_graph("%c = Conv(%x, %w)\n%d = Add(%c, %r)\n%y = Relu(%d)"),
            "contraction: Conv Add Relu\n", ""},
           {"an expression that reads the result twice",
            conv_graph("%c = Conv(%x, %w)\n%d = Tanh(%c)\n%e = Mul(%c, %d)\n%y = Mul(%e, %h)"),
            "contraction: Conv Tanh Mul Mul\n", ""},
           {"the result is an output too", conv_graph("%c = Conv(%x, %w)\n%y = Relu(%c)", "%y, %c"),
            "contraction: Conv\npointwise: Relu\n", "also read by the model's output"},
           {"the last value may have many readers",
            conv_graph("%c = Conv(%x, %w)\n%y = Relu(%c)\n%z = GlobalMaxPool(%y)", "%y, %z"),
            "contraction: Conv Relu\nsingle: GlobalMaxPool\n", ""},
           {"gate that depends on the result",
            conv_graph("%c = Conv(%x, %w)\n%p = GlobalMaxPool(%c)\n%g = Sigmoid(%p)\n%y = Mul(%c, %g)"),
            "contraction: Conv\nsingle: GlobalMaxPool\npointwise: Sigmoid\npointwise: Mul\n",
            "depends on the result"},
           {"a result that grows",
            "graph(%x: float32[1,2], %z: float32[3,2]) -> (%y) {\n%w: float32[2,2] = constant [1, 2, 3, "
            "4]\n%c = MatMul(%x, %w)\n%y = Add(%c, %z)\n}",
            "contraction: MatMul\npointwise: Add\n", "shape differs"},
           {"two convolutions and one sum",
            conv_graph("%c = Conv(%x, %w)\n%d = Conv(%r, %w)\n%y = Add(%c, %d)"),
            "contraction: Conv\ncontraction: Conv Add\n", ""},
           {"a residual sum, which the second convolution has",
            conv_graph("%c = Conv(%x, %w)\n%d = Conv(%c, %w)\n%y = Add(%c, %d)"),
            "contraction: Conv\ncontraction: Conv Add\n", "it has joined Conv"},
       })
    check_fusion(c);
}

TEST(Fuse, PointwiseGroups) {
  const auto graph = [](const std::string& body, const std::string& outputs = "%y") {
    return "graph(%x: float32[n,4], %z: float32[n,4]) -> (" + outputs +
           ") {\n%one: float32[] = constant 1\n" + body + "\n}";
  };
  for (const FuseCase& c : std::vector<FuseCase>{
           {"a chain", graph("%a = Exp(%x)\n%b = Add(%a, %one)\n%y = Log(%b)"), "pointwise: Exp Add Log\n",
            ""},
           {"several results", graph("%a = Exp(%x)\n%y = Add(%a, %z)", "%y, %a"), "pointwise: Exp Add\n", ""},
           {"a path through another region", graph("%a = Exp(%x)\n%s = Softmax(%a)\n%y = Add(%a, %s)"),
            "pointwise: Exp\nsingle: Softmax\npointwise: Add\n", "by way of other nodes"},
           {"movement stays apart", graph("%a = Exp(%x)\n%t = Transpose(%a) {perm=[1,0]}\n%y = Relu(%t)"),
            "pointwise: Exp\nsingle: Transpose\npointwise: Relu\n", ""},
       })
    check_fusion(c);
}

TEST(Fuse, ScalarsStayInBodiesAndTensorsAreOperands) {
  const auto graph = read_graph(conv_graph("%c = Conv(%x, %w)\n%d = Mul(%c, %h)\n%y = Add(%d, %s)"));
  PassContext context(test_target(), {});
  run_pass(*graph, fuse(), context);
  ASSERT_EQ(graph->node_count(), 1u);
  const Node& region = *graph->nodes().front();
  EXPECT_EQ(region.inputs().size(), 3u);  // x, w, s
  const auto view = view_contraction(region_body(region), {"Conv"});
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->tail.program.instructions.size(), 2u);
  EXPECT_GT(region.attributes.require<float>("predicted_us"), 0);
}

TEST(Fuse, GatesBeforeConvolutionsWhereTheTargetTakesThem) {
  const auto fused = [](const std::string& product, bool target_takes_them, bool channels_last = true,
                        int64_t multiple = 1, double launch_seconds = 0) {
    const auto graph = read_graph(
        "graph(%x: float32[n,8,5,5], %g: float32[n,8,1,1], %p: float32[n,1,5,5]) -> (%y) {\n"
        "%w: float32[1,8,1,1] = constant [1, 2, 3, 4, 5, 6, 7, 8]\n%m = " +
        product + "\n%c = Conv(%m, %w)\n%y = Relu(%c)\n}");
    for (const auto& v : graph->values())
      if (channels_last && v->type.rank() == 4 && !v->is_constant()) v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    if (target_takes_them) target.gated_types = {DType::kFloat32};
    target.launch_seconds = launch_seconds;
    target.gated_channel_multiple = multiple;
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph);
  };
  EXPECT_EQ(fused("Mul(%x, %g)", true), "contraction: Mul Conv Relu\n");
  EXPECT_EQ(fused("Mul(%g, %x)", true), "contraction: Mul Conv Relu\n");
  const std::string apart = "pointwise: Mul\ncontraction: Conv Relu\n";
  EXPECT_EQ(fused("Mul(%x, %g)", false), apart);
  EXPECT_EQ(fused("Mul(%x, %g)", true, false), apart);
  EXPECT_EQ(fused("Mul(%x, %g)", true, true, 8), apart);     // one output channel
  EXPECT_EQ(fused("Mul(%x, %g)", true, true, 1, 1), apart);  // a launch costs more than the traffic
  EXPECT_EQ(fused("Mul(%x, %p)", true), apart);              // a factor a pixel
  EXPECT_EQ(fused("Add(%x, %g)", true), "pointwise: Add\ncontraction: Conv Relu\n");
}

TEST(Fuse, DequantizedResidualsJoinWithTheirZeroPoints) {
  // x - c has become x + -c by then.
  check_fusion(
      {"a residual of bytes",
       "graph(%x: uint8[n,2,5,5], %r: uint8[n,2,5,5]) -> (%y) {\n%w: int8[2,2,1,1] = constant [1, 2, "
       "3, 4]\n%s: float32[] = constant 0.5\n%z: float32[] = constant -3\n%c = ConvInteger(%x, %w)\n"
       "%f = Cast(%c) {to=1}\n%g = Mul(%f, %s)\n%d = Cast(%r) {to=1}\n%e = Add(%d, %z)\n"
       "%h = Mul(%e, %s)\n%t = Add(%g, %h)\n%y = Relu(%t)\n}",
       "contraction: ConvInteger Cast Mul Cast Add Mul Add Relu\n", ""});
}

TEST(Fuse, QuantizationsJoinNormsOnGpus) {
  const auto fused = [](const std::string& reader, const std::string& name = "cuda",
                        const std::string& norm = "LayerNormalization(%x, %g)") {
    const std::string text =
        "graph(%x: float32[n,4]) -> (%y, %z) {\n%g: float32[4] = constant [1, 2, 3, 4]\n"
        "%s: float32[] = constant 0.5\n%l: float32[] = constant 0\n%h: float32[] = constant 255\n%a = " +
        norm +
        "\n%q = Div(%a, %s)\n%r = Round(%q)\n%c = Clip(%r, %l, %h)\n%y = Cast(%c) {to=2}\n%z = " + reader +
        "\n}";
    const std::unique_ptr<Graph> original = read_graph(text), graph = read_graph(text);
    TargetTraits target = test_target();
    target.name = name;
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    expect_same_results(*original, *graph, 1e-6);
    return summary(*graph);
  };
  EXPECT_EQ(fused("ReduceSum(%a)"), "reduction: LayerNormalization Div Round Clip Cast\nsingle: ReduceSum\n");
  EXPECT_EQ(fused("ReduceSum(%x)"), "reduction: LayerNormalization Div Round Clip Cast\nsingle: ReduceSum\n");
  const std::string apart = "single: LayerNormalization\npointwise: Div Round Clip Cast\nsingle: ReduceSum\n";
  EXPECT_EQ(fused("ReduceSum(%a)", "cpu"), apart);
  EXPECT_EQ(fused("ReduceSum(%c)"),
            "single: LayerNormalization\npointwise: Div Round Clip Cast\nsingle: ReduceSum\n");
}

TEST(Fuse, PoolsJoinConvolutionsWhereTheTargetTakesThem) {
  const auto fused = [](const std::string& pool, const std::string& name = "cuda", double launch_seconds = 0,
                        const std::string& other = "Neg(%q)") {
    const auto graph = read_graph(
        "graph(%x: float32[n,8,6,6]) -> (%y, %z) {\n%w: float32[8,8,3,3] = constant splat 0.1\n%p = "
        "Relu(%x)\n"
        "%c = Conv(%p, %w) {pads=[1,1,1,1]}\n%r = Relu(%c)\n%q = MaxPool(%r) {" +
        pool + "}\n%y = Neg(%q)\n%z = " + other + "\n}");
    for (const auto& v : graph->values())
      if (v->type.rank() == 4 && !v->is_constant()) v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    target.name = name;
    target.gated_types = {DType::kFloat32};
    target.launch_seconds = launch_seconds;
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph);
  };
  const std::string quarter = "kernel_shape=[2,2], strides=[2,2], ceil_mode=1";
  const auto has_pool = [](const std::string& text) {
    return text.find("contraction: Conv Relu MaxPool") != std::string::npos;
  };
  EXPECT_TRUE(has_pool(fused(quarter)));
  EXPECT_FALSE(has_pool(fused("kernel_shape=[3,3], strides=[2,2]")));
  EXPECT_FALSE(has_pool(fused("kernel_shape=[2,2]")));
  EXPECT_FALSE(has_pool(fused(quarter, "cpu")));
  EXPECT_FALSE(has_pool(fused(quarter, "cuda", 1)));             // too few tiles would be left
  EXPECT_FALSE(has_pool(fused(quarter, "cuda", 0, "Neg(%r)")));  // read before the pool, too
}

TEST(Fuse, PoolsJoinLargeConvolutionsOnTheHost) {
  const auto has_pool = [](int64_t pixels, int64_t channels = 32, const std::string& tail = "Relu(%c)",
                           const std::string& attributes = "pads=[1,1,1,1]") {
    const std::string c = std::to_string(channels), size = std::to_string(pixels);
    const auto graph = read_graph(
        "graph(%x: float32[1," + c + "," + size + "," + size + "]) -> (%y) {\n%w: float32[" + c + "," + c +
        ",3,3] = constant splat 0.1\n%p = Relu(%x)\n%c = Conv(%p, %w) {" + attributes + "}\n%r = " + tail +
        "\n%q = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]}\n%y = Neg(%q)\n}");
    for (const auto& v : graph->values())
      if (v->type.rank() == 4 && !v->is_constant()) v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    target.name = "cpu";
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph).find("MaxPool\n") != std::string::npos &&
           summary(*graph).find("single: MaxPool") == std::string::npos;
  };
  EXPECT_TRUE(has_pool(128));
  EXPECT_FALSE(has_pool(32));                      // stays in the cache
  EXPECT_FALSE(has_pool(256, 16));                 // gathered windows may be faster
  EXPECT_FALSE(has_pool(128, 32, "Sigmoid(%c)"));  // more than a clamp in registers
  EXPECT_FALSE(has_pool(128, 32, "Relu(%c)", "pads=[2,2,2,2], dilations=[2,2]"));
}

TEST(Fuse, MeansJoinDepthwiseConvolutionsWhereTheTargetGivesThem) {
  const auto fused = [](const std::string& mean, bool target_gives_them = true, int64_t channels = 16) {
    const std::string c = std::to_string(channels);
    const auto graph =
        read_graph("graph(%p: float32[n," + c + ",9,9]) -> (%y, %z) {\n%w: float32[" + c +
                   ",1,3,3] = constant splat 0.1\n%axes: int64[2] = constant [2, 3]\n"
                   "%x = Relu(%p)\n%c = Conv(%x, %w) {group=" +
                   c + "}\n%r = Relu(%c)\n%m = " + mean + "\n%y = Sigmoid(%m)\n%z = Neg(%r)\n}");
    for (const auto& v : graph->values())
      if (v->type.rank() == 4 && !v->is_constant()) v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    if (target_gives_them) target.mean_types = {DType::kFloat32};
    target.launch_seconds = 0;
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph);
  };
  const std::string joined =
      "pointwise: Relu\ncontraction: Conv Relu ReduceMean\npointwise: Sigmoid\npointwise: Neg\n";
  EXPECT_EQ(fused("ReduceMean(%r, %axes)"), joined);
  const std::string apart =
      "pointwise: Relu\ncontraction: Conv Relu\nsingle: ReduceMean\npointwise: Sigmoid\npointwise: Neg\n";
  EXPECT_EQ(fused("ReduceMean(%r, %axes)", false), apart);
  EXPECT_EQ(fused("ReduceMean(%r, %axes)", true, 4), apart);
  EXPECT_EQ(
      fused("ReduceMax(%r, %axes)"),
      "pointwise: Relu\ncontraction: Conv Relu\nsingle: ReduceMax\npointwise: Sigmoid\npointwise: Neg\n");
}

TEST(Fuse, ConversionsJoinFirstLayersWhereTheTargetReadsAnyInput) {
  const auto fused = [](const std::string& attributes, int64_t channels = 3, bool target_reads_them = true) {
    const std::string c = std::to_string(channels);
    const auto graph = read_graph("graph(%x: float32[n," + c + ",32,32]) -> (%y) {\n%w: float16[16," + c +
                                  ",4,4] = constant splat 0.1\n%h = Cast(%x) {to=10}\n%c = Conv(%h, %w) {" +
                                  attributes + "}\n%y = Relu(%c)\n}");
    for (const auto& v : graph->values())
      if (v->type.rank() == 4 && v->type.dtype == DType::kFloat16 && !v->is_constant())
        v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    if (target_reads_them) target.name = "cuda", target.gated_types = {DType::kFloat16};
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph);
  };
  const std::string joined = "contraction: Cast Conv Relu\n",
                    apart = "pointwise: Cast\ncontraction: Conv Relu\n";
  EXPECT_EQ(fused("strides=[2, 2], pads=[1, 1, 1, 1]"), joined);
  EXPECT_EQ(fused("strides=[2, 2], pads=[1, 1, 1, 1]", 3, false), apart);
  EXPECT_EQ(fused("strides=[3, 3]"), apart);
  EXPECT_EQ(fused("strides=[2, 2]", 8), apart);
}

TEST(Fuse, PoolsOf3x3JoinFirstLayersOfOneSize) {
  const auto fused = [](const std::string& pool, const std::string& width = "32", double launch_seconds = 0) {
    const auto graph = read_graph("graph(%x: float16[n,3,32," + width +
                                  "]) -> (%y) {\n%w: float16[16,3,4,4] = constant splat 0.1\n"
                                  "%c = Conv(%x, %w) {strides=[2, 2], pads=[1, 1, 1, 1]}\n%r = Relu(%c)\n"
                                  "%p = MaxPool(%r) {" +
                                  pool + "}\n%y = Neg(%p)\n}");
    for (const auto& v : graph->values())
      if (v->type.rank() == 4 && !v->is_constant()) v->layout = Layout::kChannelsLast;
    TargetTraits target = test_target();
    target.name = "cuda", target.gated_types = {DType::kFloat16};
    target.launch_seconds = launch_seconds;
    PassContext context(target, {});
    run_pass(*graph, fuse(), context);
    return summary(*graph).find("contraction: Conv Relu MaxPool") != std::string::npos;
  };
  const std::string padded = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]";
  EXPECT_TRUE(fused(padded));
  EXPECT_FALSE(fused("kernel_shape=[3,3], strides=[2,2]"));
  EXPECT_FALSE(fused(padded + ", ceil_mode=1"));
  EXPECT_FALSE(fused(padded, "w"));    // rows of any width
  EXPECT_FALSE(fused(padded, "640"));  // rows that no tile holds
  EXPECT_FALSE(fused(padded, "32", 1));
}

TEST(Fuse, NoChangesAllowedLeavesEveryNodeAlone) {
  const auto graph = read_graph(conv_graph("%c = Conv(%x, %w)\n%y = Relu(%c)"));
  PassOptions options;
  options.max_patches = 0;
  PassContext context(test_target(), options);
  run_pass(*graph, fuse(), context);
  EXPECT_EQ(summary(*graph), "single: Conv\nsingle: Relu\n");
}

}  // namespace
}  // namespace wootz::pass_tests
