// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_log {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::log(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, 0, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Log", "y = ln(x); -infinity at 0 and NaN below.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kLog>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_log
