// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_leaky_relu {
namespace {

struct Parameters {
  float alpha = 0.01f;
  template <class V>
  void reflect(V& v) {
    v("alpha", alpha);
  }
};

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  evaluate_unary(c, {.real = [&](double a) { return a < 0 ? p.alpha * a : a; }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("LeakyRelu", "x where x >= 0, else alpha x.", 1, 1);
  def.attributes = attribute_specs<Parameters>();
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kLeakyRelu>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_leaky_relu
