// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_bitwise_not {
namespace {

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.integer = [](int64_t a) { return ~a; }, .natural = [](uint64_t a) { return ~a; }});
}

std::vector<Sample> samples() { return unary_samples(kIntegerTypes, -99, 99); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("BitwiseNot", "Every bit of x inverted.", 1, 18);
  def.infer = infer_same<kIntegerTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kBitNot>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_bitwise_not
