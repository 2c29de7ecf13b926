// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_max {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes);
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) {
    Dim result = x[0];
    for (const Dim& each : x.subspan(1)) result = symbols.max(result, each);
    return std::optional<Dim>(result);
  });
}

void evaluate(EvalContext& c) {
  evaluate_variadic(c, {.real = [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
                        .integer = [](int64_t a, int64_t b) { return a > b ? a : b; },
                        .natural = [](uint64_t a, uint64_t b) { return a > b ? a : b; }});
}

std::optional<ScalarOp> scalar(const Node& node) {
  return node.inputs().size() == 1 ? ScalarOp::kCopy : ScalarOp::kMax;
}

std::vector<Sample> samples() { return variadic_samples(kNumberTypes); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Max", "The element-wise largest of the inputs; NaN wins.", 1, 1);
  def.max_inputs = -1;
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_max
