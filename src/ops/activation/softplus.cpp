// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_softplus {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c,
                 {.real = [](double a) { return std::max(a, 0.0) + std::log1p(std::exp(-std::fabs(a))); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Softplus", "y = ln(1 + exp(x)).", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSoftplus>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_softplus
