// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_reciprocal {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return 1 / a; }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Reciprocal", "y = 1 / x.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kReciprocal>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_reciprocal
