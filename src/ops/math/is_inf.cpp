// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_is_inf {
namespace {

struct Parameters {
  int64_t detect_negative = 1;
  int64_t detect_positive = 1;
  template <class V>
  void reflect(V& v) {
    v("detect_negative", detect_negative);
    v("detect_positive", detect_positive);
  }
};

constexpr DTypeSet kTypes = kRealTypes | kFloat8Types;

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  evaluate_test(
      c, [&](double a) { return std::isinf(a) && (a > 0 ? p.detect_positive : p.detect_negative) != 0; });
}

std::vector<Sample> samples() { return unary_samples(kTypes, -2, 2); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("IsInf", "Whether x is infinite, of the signs asked for.", 1, 10);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer_predicate<kTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kIsInf>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_is_inf
