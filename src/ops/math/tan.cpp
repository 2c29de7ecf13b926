// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_tan {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::tan(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -1.5, 1.5); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Tan", "y = tan(x), x in radians.", 1, 7);
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kTan>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_tan
