// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_mean {
namespace {

void evaluate(EvalContext& c) {
  evaluate_variadic(c, {.real = std::plus<double>()},
                    [&](double sum) { return sum / static_cast<double>(c.input_count()); });
}

std::optional<ScalarOp> scalar(const Node& node) {
  return node.inputs().size() == 1 ? std::optional(ScalarOp::kCopy) : std::nullopt;
}

std::vector<Sample> samples() { return variadic_samples(kRealTypes); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Mean", "The element-wise mean of the inputs.", 1, 1);
  def.max_inputs = -1;
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_mean
