// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_thresholded_relu {
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
  evaluate_unary(c, {.real = [&](double a) { return a > p.alpha ? a : 0; }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("ThresholdedRelu", "x where x > alpha, else 0.", 1, 10);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kThresholdedRelu>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_thresholded_relu
