// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_sin {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::sin(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Sin", "y = sin(x), x in radians.", 1, 7);
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSin>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sin
