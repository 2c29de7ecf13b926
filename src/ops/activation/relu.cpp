// SPDX-License-Identifier: Apache-2.0
#include "ops/double_math.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_relu {
namespace {

constexpr DTypeSet kTypes = kRealTypes | kSignedTypes;

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.integer = [](int64_t a) { return a < 0 ? 0 : a; }, .reals = relu_all});
}

std::vector<Sample> samples() { return unary_samples(kTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Relu", "y = max(0, x).", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kRelu>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_relu
