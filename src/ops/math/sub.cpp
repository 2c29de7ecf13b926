// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_sub {
namespace {

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes);
  infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional<Dim>(x[0] - x[1]); });
}

void evaluate(EvalContext& c) {
  evaluate_binary(c,
                  {
                      .real = std::minus<double>(),
                      .integer =
                          [](int64_t a, int64_t b) {
                            return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
                          },
                      .natural = [](uint64_t a, uint64_t b) { return a - b; },
                  });
}

std::vector<Sample> samples() { return binary_samples(kNumberTypes, {-9, 9}, {-9, 9}); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Sub", "y = a - b; integers wrap.", 2, 1);
  def.canonicalize = canonicalize_axis_broadcast;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kSub>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sub
