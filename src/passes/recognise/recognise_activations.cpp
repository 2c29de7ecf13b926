// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_activations.h"

#include <cmath>

#include "ops/registry.h"
#include "passes/pattern/rule.h"

namespace wootz {
namespace {

std::optional<Patch> one_node(const Match& m, const char* op, Attributes attributes = {}) {
  Value* x = m.value("x");
  if (!OpRegistry::global().find("", op) || !is_float_value(x) || !same_shape(x, m.root->output(0)))
    return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), patch.node(op, {x}, std::move(attributes)));
  return patch;
}

std::optional<Patch> swish(const Match& m, PassContext&) {
  Attributes attributes;
  if (m.value("a")) attributes.set("alpha", static_cast<float>(m.number("a")));
  return one_node(m, "Swish", std::move(attributes));
}

std::optional<Patch> hard_sigmoid(const Match& m, PassContext&) {
  Attributes attributes;
  attributes.set("alpha", 1.0f / 6.0f);
  attributes.set("beta", 0.5f);
  return one_node(m, "HardSigmoid", std::move(attributes));
}

std::optional<Patch> hard_swish(const Match& m, PassContext&) { return one_node(m, "HardSwish"); }

/// x * hard_sigmoid(x) where hard_sigmoid has the parameters that HardSwish means.
std::optional<Patch> hard_swish_of_sigmoid(const Match& m, PassContext&) {
  const Node& gate = *m.node("gate");
  if (std::abs(gate.attributes.get<float>("alpha", 0.2f) - 1.0f / 6.0f) > 1e-6f) return std::nullopt;
  if (gate.attributes.get<float>("beta", 0.5f) != 0.5f) return std::nullopt;
  return one_node(m, "HardSwish");
}

std::optional<Patch> mish(const Match& m, PassContext&) { return one_node(m, "Mish"); }
std::optional<Patch> gelu(const Match& m, PassContext&) { return one_node(m, "Gelu"); }

std::optional<Patch> gelu_tanh(const Match& m, PassContext&) {
  Attributes attributes;
  attributes.set("approximate", std::string("tanh"));
  return one_node(m, "Gelu", std::move(attributes));
}

/// The ways to multiply x, 0.5 and 1 + g.
std::vector<std::string> halves(const std::string& g) {
  const std::string gate = "Add(" + g + ", 1)";
  return {"Mul(Mul(x, " + gate + "), 0.5)", "Mul(Mul(x, 0.5), " + gate + ")",
          "Mul(x, Mul(" + gate + ", 0.5))", "Div(Mul(x, " + gate + "), 2)",
          "Mul(x, Div(" + gate + ", 2))",   "Mul(x, Add(Mul(" + g + ", 0.5), 0.5))"};
}

std::vector<std::string> gelu_spellings() {
  return halves("Erf(Div(x, 1.4142135623730951)|Mul(x, 0.7071067811865476))");
}

std::vector<std::string> gelu_tanh_spellings() {
  const std::string cube = "(Pow(x, 3)|Mul(Mul(x, x), x))";
  const std::string scaled =
      "(Mul(" + cube + ", 0.044715)|Mul(Mul(Mul(x, 0.044715), x), x)|Mul(Mul(Mul(x, x), 0.044715), x))";
  const std::string sum = "Mul(Add(x, " + scaled + "), 0.7978845608028654)";
  const std::string factored =
      "Mul(Mul(x, 0.7978845608028654), Add(Mul(Mul(x, 0.044715), x)|Mul(Mul(x, x), 0.044715), 1))";
  return halves("Tanh(" + sum + "|" + factored + ")");
}

std::vector<std::string> hard_swish_spellings() {
  const std::string clip = "(Clip(Add(x, 3), 0, 6)|Min(Max(Add(x, 3), 0), 6)|Min(Relu(Add(x, 3)), 6))";
  return {"Mul(x, Div(" + clip + ", 6))", "Div(Mul(x, " + clip + "), 6)",
          "Mul(x, Mul(" + clip + ", 0.16666666666666666))", "Mul(Mul(x, " + clip + "), 0.16666666666666666)",
          "Mul(Mul(x, 0.16666666666666666), " + clip + ")"};
}

bool run_recognise_activations(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"x * sigmoid(a x) => swish(x)", {"Mul(x, Sigmoid(x))", "Mul(x, Sigmoid(Mul(x, $a)))"}, swish},
      {"x * clip(x + 3, 0, 6) / 6 => hard_swish(x)", hard_swish_spellings(), hard_swish},
      {"x * hard_sigmoid(x) => hard_swish(x)", {"Mul(x, gate:HardSigmoid(x))"}, hard_swish_of_sigmoid},
      {"clip(x + 3, 0, 6) / 6 => hard_sigmoid(x)",
       {"Div(Clip(Add(x, 3), 0, 6), 6)", "Mul(Clip(Add(x, 3), 0, 6), 0.16666666666666666)"},
       hard_sigmoid},
      {"x * tanh(log(1 + e^x)) => mish(x)",
       {"Mul(x, Tanh(Softplus(x)))", "Mul(x, Tanh(Log(Add(Exp(x), 1))))"},
       mish},
      {"x (1 + erf(x / sqrt 2)) / 2 => gelu(x)", gelu_spellings(), gelu},
      {"x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 => gelu(x)", gelu_tanh_spellings(), gelu_tanh},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass recognise_activations() {
  return {"recognise_activations",
          "SiLU, HardSigmoid, HardSwish, Mish and GELU written out become one node each.",
          run_recognise_activations};
}

}  // namespace wootz
