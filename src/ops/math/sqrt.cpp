// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_sqrt {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::sqrt(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, 0, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Sqrt", "y = sqrt(x); NaN below 0.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSqrt>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sqrt
