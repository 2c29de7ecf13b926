// SPDX-License-Identifier: Apache-2.0
// Integers are compared as real numbers; the result is truncated.
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_shrink {
namespace {

struct Parameters {
  float bias = 0.0f;
  float lambd = 0.5f;
  template <class V>
  void reflect(V& v) {
    v("bias", bias);
    v("lambd", lambd);
  }
};

std::optional<ScalarOp> scalar(const Node& node) {
  return is_float(node.input(0)->type.dtype) ? std::optional(ScalarOp::kShrink) : std::nullopt;
}

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  const auto shrink = [&](double a) { return a < -p.lambd ? a + p.bias : a > p.lambd ? a - p.bias : 0; };
  evaluate_unary(
      c, {.real = shrink,
          .integer = [&](int64_t a) { return static_cast<int64_t>(shrink(static_cast<double>(a))); },
          .natural = [&](uint64_t a) { return static_cast<uint64_t>(shrink(static_cast<double>(a))); }});
}

std::vector<Sample> samples() { return unary_samples(kNumberTypes, -4, 4); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Shrink", "x + bias where x < -lambd, x - bias where x > lambd, else 0.", 1, 9);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer_same<kNumberTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_shrink
