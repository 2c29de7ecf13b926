// SPDX-License-Identifier: Apache-2.0
// The sign of NaN, which ONNX leaves open, is NaN.
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_sign {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::isnan(a) ? a : (a > 0) - (a < 0); },
                     .integer = [](int64_t a) { return int64_t{a > 0} - int64_t{a < 0}; },
                     .natural = [](uint64_t a) { return uint64_t{a > 0}; }});
}

std::vector<Sample> samples() { return unary_samples(kNumberTypes, -3, 3); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Sign", "-1, 0 or 1 as x is negative, zero or positive.", 1, 9);
  def.infer = infer_same<kNumberTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSign>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sign
