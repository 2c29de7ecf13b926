// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_is_nan {
namespace {

constexpr DTypeSet kTypes = kRealTypes | kFloat8Types;

void evaluate(EvalContext& c) {
  evaluate_test(c, [](double a) { return std::isnan(a); });
}

std::vector<Sample> samples() { return unary_samples(kTypes, -2, 2); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("IsNaN", "Whether x is not a number.", 1, 9);
  def.infer = infer_predicate<kTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kIsNaN>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_is_nan
