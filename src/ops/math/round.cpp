// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_round {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kRealTypes);
  infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional<Dim>(x[0]); });
}

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.real = [](double a) { return std::nearbyint(a); }});
}

std::vector<Sample> samples() { return unary_samples(kRealTypes, -4.5, 4.5); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Round", "The nearest integer; halves go to the even one.", 1, 11);
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kRound>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_round
