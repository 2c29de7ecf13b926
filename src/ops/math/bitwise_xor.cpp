// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_bitwise_xor {
namespace {

void evaluate(EvalContext& c) {
  evaluate_binary(c, {
                         .integer = [](int64_t a, int64_t b) { return a ^ b; },
                         .natural = [](uint64_t a, uint64_t b) { return a ^ b; },
                     });
}

std::vector<Sample> samples() { return binary_samples(kIntegerTypes, {-99, 99}, {-99, 99}, false); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("BitwiseXor", "Bit by bit, a xor b.", 2, 18);
  def.infer = infer_same<kIntegerTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kBitXor>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_bitwise_xor
