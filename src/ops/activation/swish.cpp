// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_swish {
namespace {

struct Parameters {
  float alpha = 1.0f;
  template <class V>
  void reflect(V& v) {
    v("alpha", alpha);
  }
};

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  evaluate_unary(c, {.real = [&](double a) { return a / (1 + std::exp(-p.alpha * a)); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Swish", "y = x / (1 + exp(-alpha x)); SiLU at alpha = 1.", 1, 24);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSilu>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_swish
