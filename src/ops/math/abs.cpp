// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_abs {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes);
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
    if (symbols.lower_bound(x[0]) >= 0) return x[0];
    return x[0].is_constant() ? std::optional<Dim>(-x[0].value()) : std::nullopt;
  });
}

void evaluate(EvalContext& c) {
  evaluate_unary(
      c, {.real = [](double a) { return std::fabs(a); },
          .integer = [](int64_t a) { return a < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a; },
          .natural = [](uint64_t a) { return a; }});
}

std::vector<Sample> samples() { return unary_samples(kNumberTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Abs", "y = |x|; the smallest integer stays itself.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kAbs>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_abs
