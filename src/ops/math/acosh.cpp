// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_acosh {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::acosh(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, 1, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Acosh", "y = arcosh(x); NaN below 1.", 1, 9);
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kAcosh>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_acosh
