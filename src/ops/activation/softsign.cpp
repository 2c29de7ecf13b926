// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_softsign {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return a / (1 + std::fabs(a)); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Softsign", "y = x / (1 + |x|).", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSoftsign>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_softsign
