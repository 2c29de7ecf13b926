// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::erf(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -3, 3); }

}  // namespace

void register_op_erf(OpRegistry& registry) {
  OpDef def = pointwise_op("Erf", "y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x.", 1, 9);
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kErf>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
