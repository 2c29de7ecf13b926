// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/lower_precision.h"

#include <algorithm>

#include "base/error.h"
#include "passes/precision/constant_fit.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

PassOptions asked(DType type, std::vector<PrecisionOverride> overrides = {}) {
  PassOptions o;
  o.precision.type = type;
  o.precision.overrides = std::move(overrides);
  return o;
}

struct Lowered {
  std::unique_ptr<Graph> original, graph;
  std::vector<Remark> remarks;

  DType type(const char* name) const { return graph->find_value(name)->type.dtype; }
  bool remarked(const std::string& text) const {
    return std::any_of(remarks.begin(), remarks.end(),
                       [&](const Remark& r) { return r.text.find(text) != std::string::npos; });
  }
};

Lowered lower(const std::string& text, const PassOptions& options, double tolerance = 1e-2) {
  Lowered l{read_graph(text), read_graph(text), {}};
  PassContext context(test_target(), options);
  run_pass(*l.graph, lower_precision(), context);
  l.remarks = context.remarks;
  expect_same_results(*l.original, *l.graph, tolerance);
  return l;
}

const std::string kTwoProducts = R"(graph(%x: float32[n,4]) -> (%y) {
%w: float32[4,4] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, 0, 0.75, 1]
%a = MatMul(%x, %w)
%b = Relu(%a)
%c = MatMul(%b, %w)
%y = Tanh(%c)
})";

TEST(LowerPrecision, ProductsAndWhatLiesBetweenThem) {
  for (DType type : {DType::kFloat16, DType::kBFloat16}) {
    const Lowered l = lower(kTwoProducts, asked(type), type == DType::kFloat16 ? 4e-3 : 3e-2);
    EXPECT_EQ(l.type("a"), type);
    EXPECT_EQ(l.type("b"), type);
    EXPECT_EQ(l.type("c"), type);
    EXPECT_EQ(l.type("y"), DType::kFloat32);
    EXPECT_EQ(l.type("x"), DType::kFloat32);
    EXPECT_TRUE(l.remarked("3 nodes in " + std::string(dtype_name(type)))) << l.remarks.back().text;
  }
}

TEST(LowerPrecision, NothingUnlessAsked) {
  const std::unique_ptr<Graph> graph = read_graph(kTwoProducts);
  PassContext context(test_target(), {});
  EXPECT_FALSE(run_pass(*graph, lower_precision(), context));
}

TEST(LowerPrecision, OverridesByNameOutputAndOperator) {
  const Lowered kept = lower(kTwoProducts, asked(DType::kFloat16, {{"c", DType::kFloat32}}));
  EXPECT_EQ(kept.type("a"), DType::kFloat16);
  EXPECT_EQ(kept.type("c"), DType::kFloat32);
  const Lowered chosen = lower(kTwoProducts, asked(DType::kFloat32, {{"Mat*", DType::kBFloat16}}), 3e-2);
  EXPECT_EQ(chosen.type("a"), DType::kBFloat16);
  EXPECT_EQ(chosen.type("b"), DType::kFloat32);
  EXPECT_EQ(chosen.type("c"), DType::kBFloat16);
  try {
    lower(kTwoProducts, asked(DType::kFloat16, {{"typo*", DType::kFloat32}}));
    FAIL() << "a pattern without a match must be an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
  }
}

TEST(LowerPrecision, RangesKeepNodesInFloat32) {
  PassOptions options = asked(DType::kFloat16);
  options.precision.ranges["a"] = {1e5, 1e5};
  const Lowered l = lower(kTwoProducts, options);
  EXPECT_EQ(l.type("a"), DType::kFloat32);
  EXPECT_EQ(l.type("b"), DType::kFloat32);
  EXPECT_EQ(l.type("c"), DType::kFloat16);
  EXPECT_TRUE(l.remarked("'a' reaches 1e+05"));
  options = asked(DType::kBFloat16);
  options.precision.ranges["a"] = {1e5, 1e5};
  EXPECT_EQ(lower(kTwoProducts, options, 3e-2).type("a"), DType::kBFloat16);
  options = asked(DType::kFloat16);
  options.precision.ranges["c"] = {1e-6, 1e-6};
  EXPECT_EQ(lower(kTwoProducts, options).type("c"), DType::kFloat32);
}

TEST(LowerPrecision, ConstantsThatDoNotFit) {
  const Lowered l = lower(R"(graph(%x: float32[n,2]) -> (%y) {
%big: float32[2,2] = constant [1e5, 0, 0, 1]
%small: float32[2,2] = constant [1e-9, 2e-9, 3e-9, 1e-9]
%w: float32[2,2] = constant [1e-5, 0, 0, 1]
%e: float32[] = constant 1e-12
%a = MatMul(%x, %big)
%b = MatMul(%a, %w)
%c = Add(%b, %e)
%d = MatMul(%c, %small)
%y = MatMul(%d, %w)
})",
                          asked(DType::kFloat16));
  EXPECT_EQ(l.type("a"), DType::kFloat32);
  EXPECT_EQ(l.type("b"), DType::kFloat32);
  EXPECT_EQ(l.type("c"), DType::kFloat32);
  EXPECT_EQ(l.type("d"), DType::kFloat32);
  EXPECT_TRUE(l.remarked("'a' was not measured and may exceed the range"));
  EXPECT_TRUE(l.remarked("1 of 4 elements of its constant lie beyond 6.55e+04"));
  EXPECT_TRUE(l.remarked("4 of 4 elements become 0"));
}

// (1 - mask) * -3.4e38 added to scores: neither infinite nor NaN in 16 bits.
TEST(LowerPrecision, MasksAreClamped) {
  const std::string text = R"(graph(%q: float32[n,4], %keep: bool[n,n]) -> (%y) {
%w: float32[4,4] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, 0, 0.75, 1]
%one: float32[] = constant 1
%lowest: float32[] = constant -3.4028235e38
%k = Transpose(%q) {perm=[1, 0]}
%s = MatMul(%q, %k)
%m = Cast(%keep) {to=1}
%r = Sub(%one, %m)
%f = Mul(%r, %lowest)
%t = Add(%s, %f)
%p = Softmax(%t) {axis=-1}
%a = MatMul(%p, %q)
%y = MatMul(%a, %w)
})";
  for (DType type : {DType::kFloat16, DType::kBFloat16}) {
    const Lowered l = lower(text, asked(type), type == DType::kFloat16 ? 1e-2 : 5e-2);
    EXPECT_EQ(l.type("t"), type);
    EXPECT_EQ(l.type("p"), type);
    EXPECT_EQ(l.type("f"), DType::kFloat32);
  }
}

TEST(LowerPrecision, ShapesAndIndicesAreLeftAlone) {
  const Lowered l = lower(R"(graph(%x: float32[n,4], %i: int64[m]) -> (%y, %s) {
%w: float32[4,4] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, 0, 0.75, 1]
%zero: int64[1] = constant [0]
%z: int64[m] = Sub(%i, %i)
%a = MatMul(%x, %w)
%s = Shape(%a)
%g = Gather(%a, %z) {axis=0}
%y = MatMul(%g, %w)
})",
                          asked(DType::kFloat16));
  EXPECT_EQ(l.type("s"), DType::kInt64);
  EXPECT_EQ(l.type("g"), DType::kFloat16);
}

TEST(LowerPrecision, BodiesReadFloat32) {
  lower(R"(graph(%x: float32[n,4], %c: bool[]) -> (%y) {
%w: float32[4,4] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1, 1, 0, 0.75, 1]
%a = MatMul(%x, %w)
%b = If(%c) {else_branch=graph() -> (%e) {
%e = Neg(%a)
}, then_branch=graph() -> (%t) {
%t = Relu(%a)
}}
%y = MatMul(%b, %w)
})",
        asked(DType::kFloat16));
}

TEST(ConstantFit, CountsWhatIsLost) {
  const float values[] = {1e5f, 1e-9f, 1.0f, -2.0f, 0.0f};
  const ConstantFit fit = fit_constant(Tensor::from<float>(DType::kFloat32, {5}, values), DType::kFloat16);
  EXPECT_EQ(fit.overflowing, 1);
  EXPECT_EQ(fit.flushed, 1);
  EXPECT_LT(fit.relative_error, 1e-6);
  EXPECT_EQ(
      convert_constant(Tensor::from<float>(DType::kFloat32, {5}, values), DType::kFloat16, 1000).to_doubles(),
      (std::vector<double>{1000, 0, 1, -2, 0}));
}

TEST(PrecisionOptions, Parsing) {
  PrecisionOptions o;
  parse_precision("bf16", o);
  EXPECT_EQ(o.type, DType::kBFloat16);
  parse_precision("tf32", o);
  EXPECT_TRUE(o.tf32 && o.type == DType::kFloat32 && !o.lowers());
  EXPECT_THROW(parse_precision("half", o), Error);
  EXPECT_EQ(parse_precision_override("a=b=fp16").pattern, "a=b");
  EXPECT_THROW(parse_precision_override("conv"), Error);
  EXPECT_THROW(parse_precision_override("=fp16"), Error);
}

}  // namespace
}  // namespace wootz::pass_tests
