// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/same_meaning.h"

#include "passes/pattern/rule.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::optional<Patch> one(const Match& m, const char* op, Attributes attributes = {}) {
  Patch patch;
  patch.replace(m.root->output(0), patch.node(op, {m.value("x")}, std::move(attributes)));
  return patch;
}

/// What is told of a rule that replaces `pattern` and is thrown out, with the graph as it was; empty where it
/// changed the graph.
std::string error_of(const std::string& pattern, std::optional<Patch> (*build)(const Match&, PassContext&),
                     const std::string& body) {
  const auto graph = read_graph("graph(%x: float32[n,4], %z: float32[n,4]) -> (%y) {\n" + body + "\n}");
  const std::string before = canonical_text(*graph);
  PassContext context(test_target(), {});
  const bool changed = RuleSet({{"the rule", {pattern}, build}}).apply(*graph, context);
  verify_graph(*graph, "the rule");
  EXPECT_EQ(changed, context.remarks.empty()) << body;
  if (changed) return "";
  EXPECT_EQ(context.remarks.size(), 1u);
  EXPECT_EQ(canonical_text(*graph), before);
  return context.remarks.empty() ? "nothing changed" : context.remarks[0].text;
}

const char* const kGelu =
    "%r: float32[] = constant 1.4142135\n%o: float32[] = constant 1\n%h: float32[] = constant 0.5\n%d = "
    "Div(%x, %r)\n%e = Erf(%d)\n%a = Add(%e, %o)\n%m = Mul(%x, %a)\n%y = Mul(%m, %h)";
const char* const kGeluPattern = "Mul(Mul(x, Add(Erf(Div(x, #r)), 1)), 0.5)";

TEST(SameMeaning, AnotherFormulaIsFoundOut) {
  const auto by_tanh = [](const Match& m, PassContext&) {
    Attributes attributes;
    attributes.set("approximate", std::string("tanh"));
    return one(m, "Gelu", std::move(attributes));
  };
  const std::string error = error_of(kGeluPattern, by_tanh, kGelu);
  EXPECT_EQ(error.find("thrown out: rule `the rule` changes what 'y' is"), 0u) << error;
  EXPECT_EQ(error_of(
                kGeluPattern, [](const Match& m, PassContext&) { return one(m, "Gelu"); }, kGelu),
            "");
}

TEST(SameMeaning, OperandsThatChangedPlacesAreFoundOut) {
  const auto turned = [](const Match& m, PassContext&) {
    Patch patch;
    patch.replace(m.root->output(0), patch.node("Sub", {m.value("b"), m.value("a")}));
    return std::optional(patch);
  };
  EXPECT_NE(error_of("Add(a, Neg(b))", turned, "%t = Neg(%z)\n%y = Add(%x, %t)"), "");
}

TEST(SameMeaning, RangesThatOperandsHaveAreKept) {
  // Right only since x is a Relu's.
  EXPECT_EQ(error_of(
                "Abs(x)", [](const Match& m, PassContext&) { return one(m, "Relu"); },
                "%t = Relu(%z)\n%y = Abs(%t)"),
            "");
}

TEST(SameMeaning, RepeatedNumbersAreThemselves) {
  const auto without_expand = [](const Match& m, PassContext&) {
    Patch patch;
    patch.replace(m.root->output(0), patch.node("Mul", {m.value("x"), m.value("b")}));
    return std::optional(patch);
  };
  const auto without_expand_of_sum = [](const Match& m, PassContext&) {
    Patch patch;
    patch.replace(m.root->output(0),
                  patch.node("Mul", {patch.node("Add", {m.value("x"), m.value("b")}), m.value("b")}));
    return std::optional(patch);
  };
  const std::string shape = "%n: int64[2] = constant [3, 4]\n";
  EXPECT_EQ(
      error_of("Mul(x, Expand(b, s))", without_expand,
               shape + "%c: float32[1,4] = constant [0, 0, 0, 0]\n%e = Expand(%c, %n)\n%y = Mul(%x, %e)"),
      "");
  EXPECT_EQ(error_of("Mul(Add(x, b), Expand(b, s))", without_expand_of_sum,
                     shape + "%t = Add(%x, %z)\n%e = Expand(%z, %n)\n%y = Mul(%t, %e)"),
            "");
}

TEST(SameMeaning, ElementsOfAnotherValueAreNotFree) {
  // Right only since all that is reshaped are zeros.
  const auto zero = [](const Match& m, PassContext&) {
    Patch patch;
    patch.replace(m.root->output(0),
                  patch.node("Mul", {m.value("x"), patch.constant(Tensor::zeros(DType::kFloat32, {}))}));
    return std::optional(patch);
  };
  EXPECT_EQ(
      error_of("Mul(x, Reshape(b, s))", zero,
               "%s: int64[2] = constant [1, 4]\n%c: float32[4] = constant [0, 0, 0, 0]\n%e = Reshape(%c, "
               "%s)\n%y = Mul(%x, %e)"),
      "");
}

TEST(SameMeaning, WhatIsNotPointwiseIsLeftAlone) {
  EXPECT_EQ(error_of(
                "Softmax(x)", [](const Match& m, PassContext&) { return one(m, "Neg"); }, "%y = Softmax(%x)"),
            "");
}

}  // namespace
}  // namespace wootz::pass_tests
