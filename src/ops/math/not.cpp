// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_not {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kBoolType);
  infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional<Dim>(Dim(1) - x[0]); });
}

void evaluate(EvalContext& c) {
  evaluate_unary(c, {.natural = [](uint64_t a) { return uint64_t{a == 0}; }});
}

std::vector<Sample> samples() { return unary_samples(kBoolType, 0, 1); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Not", "y = not x.", 1, 1);
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kNot>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_not
