// SPDX-License-Identifier: Apache-2.0
// Opset 9 allows integers: their result is truncated, as Cast does.
#include "ops/double_math.h"
#include "ops/expansion.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_erf {
namespace {

void canonicalize(CanonicalizeContext& c) {
  Expansion e(c);
  if (!e.input(0) || !is_integer(e.dtype(e.input(0)))) return;
  const auto to = [](DType dtype) { return Attribute(static_cast<int64_t>(dtype)); };
  Value* real = e.add("Erf", {e.add("Cast", {e.input(0)}, {{"to", to(DType::kFloat64)}})});
  e.result("Cast", {real}, {{"to", to(e.dtype(e.input(0)))}});
  e.finish();
}

void evaluate(EvalContext& c) { evaluate_unary(c, {.reals = erf_all}); }

std::vector<Sample> samples() { return unary_samples(kRealTypes, -3, 3); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Erf", "y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x.", 1, 9);
  def.canonicalize = canonicalize;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kErf>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_erf
