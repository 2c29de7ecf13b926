// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_or {
namespace {

void evaluate(EvalContext& c) {
  evaluate_binary(c, {
                         .natural = [](uint64_t a, uint64_t b) { return a | b; },
                     });
}

std::vector<Sample> samples() { return binary_samples(kBoolType, {0, 1}, {0, 1}, false); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Or", "y = a or b.", 2, 1);
  def.canonicalize = canonicalize_axis_broadcast;
  def.infer = infer_same<kBoolType>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kOr>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_or
