// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_hard_swish {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.reals = each([](double a) { return a * std::max(0.0, std::min(1.0, a / 6 + 0.5)); })});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("HardSwish", "x max(0, min(1, x / 6 + 1 / 2)).", 1, 14);
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kHardSwish>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_hard_swish
