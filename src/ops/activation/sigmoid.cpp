// SPDX-License-Identifier: Apache-2.0
#include "ops/double_math.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_sigmoid {
namespace {

void evaluate(EvalContext& c) { evaluate_unary(c, {.reals = sigmoid_all}); }

std::vector<Sample> samples() { return unary_samples(kRealTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Sigmoid", "y = 1 / (1 + exp(-x)).", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSigmoid>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sigmoid
