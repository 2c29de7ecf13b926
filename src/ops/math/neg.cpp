// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_neg {
namespace {

constexpr DTypeSet kTypes = kRealTypes | kSignedTypes;

void infer(InferContext& c) {
  infer_elementwise(c, kTypes);
  infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional<Dim>(x[0] * -1); });
}

void evaluate(EvalContext& c) {
  evaluate_unary(c,
                 {.real = [](double a) { return -a; },
                  .integer = [](int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }});
}

std::vector<Sample> samples() { return unary_samples(kTypes, -9, 9); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Neg", "y = -x; the smallest integer stays itself.", 1, 1);
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kNeg>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_neg
