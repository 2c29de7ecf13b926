// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_hard_sigmoid {
namespace {

struct Parameters {
  float alpha = 0.2f;
  float beta = 0.5f;
  template <class V>
  void reflect(V& v) {
    v("alpha", alpha);
    v("beta", beta);
  }
};

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  evaluate_unary(
      c, {.real = [&](double a) {
        return std::isnan(a) ? a : std::max(0.0, std::min(1.0, static_cast<double>(p.alpha) * a + p.beta));
      }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("HardSigmoid", "max(0, min(1, alpha x + beta)).", 1, 1);
  def.attributes = attribute_specs<Parameters>();
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kHardSigmoid>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_hard_sigmoid
