// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_ceil {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kRealTypes);
  infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional<Dim>(x[0]); });
}

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::ceil(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -3, 3); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Ceil", "The smallest integer that is not below x.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kCeil>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_ceil
