// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_gelu {
namespace {

struct Parameters {
  std::string approximate = "none";
  template <class V>
  void reflect(V& v) {
    v("approximate", approximate);
  }
};

std::optional<ScalarOp> scalar(const Node& node) {
  return read_attributes<Parameters>(node.attributes).approximate == "tanh" ? ScalarOp::kGeluTanh
                                                                            : ScalarOp::kGelu;
}

double exact(double a) { return 0.5 * a * std::erfc(-a / std::numbers::sqrt2); }

double by_tanh(double a) {
  return 0.5 * a * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a)));
}

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  c.check(p.approximate == "none" || p.approximate == "tanh",
          "approximate: expected none or tanh, found " + p.approximate);
  evaluate_unary(c, {.real = p.approximate == "tanh" ? by_tanh : exact});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -5, 5); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op(
      "Gelu",
      "y = x P(X <= x) with X normal; approximate = tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).",
      1, 20);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_gelu
