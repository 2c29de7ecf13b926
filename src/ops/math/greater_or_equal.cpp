// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_greater_or_equal {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes, DType::kBool);
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
    const int64_t lower = symbols.lower_bound(x[0] - x[1]), upper = symbols.upper_bound(x[0] - x[1]);
    if (lower >= 0) return Dim(1);
    if (upper < 0) return Dim(0);
    return std::nullopt;
  });
}

void evaluate(EvalContext& c) {
  evaluate_compare(c, {
                          .real = [](double a, double b) { return a >= b; },
                          .integer = [](int64_t a, int64_t b) { return a >= b; },
                          .natural = [](uint64_t a, uint64_t b) { return a >= b; },
                      });
}

std::vector<Sample> samples() { return binary_samples(kNumberTypes, {-4, 4}, {-4, 4}); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("GreaterOrEqual", "Whether a >= b; false where one is NaN.", 2, 12);
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kGreaterOrEqual>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_greater_or_equal
