// SPDX-License-Identifier: Apache-2.0
// An integer division by zero is an error of the model; the smallest integer divided by -1 stays itself.
#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_div {
namespace {

template <class T>
T divide(T a, T b) {
  if (b == 0) throw Error(ErrorKind::kInvalidModel, "integer division by zero");
  if (b == static_cast<T>(-1) && std::is_signed_v<T>) return static_cast<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}

std::optional<Dim> divide_contents(SymbolTable& symbols, const Dim& a, const Dim& b, bool truncates) {
  if (b.is(0)) return std::nullopt;
  if (auto exact = symbols.divide_exact(a, b)) return exact;
  if (!truncates) return std::nullopt;
  if (a.is_constant() && b.is_constant()) return Dim(divide(a.value(), b.value()));
  // Truncation is floor_div only where nothing is negative.
  if (b.is_constant() && b.value() > 0 && symbols.lower_bound(a) >= 0) return symbols.floor_div(a, b.value());
  return std::nullopt;
}

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes);
  const bool truncates = !is_float(c.dtype(0));
  infer_contents(c, [&](SymbolTable& symbols, std::span<const Dim> x) {
    return divide_contents(symbols, x[0], x[1], truncates);
  });
}

void evaluate(EvalContext& c) {
  evaluate_binary(c, {
                         .real = std::divides<double>(),
                         .integer = divide<int64_t>,
                         .natural = divide<uint64_t>,
                     });
}

std::vector<Sample> samples() { return binary_samples(kNumberTypes, {-20, 20}, {1, 5}); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Div", "y = a / b; integers truncate toward zero.", 2, 1);
  def.canonicalize = canonicalize_axis_broadcast;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kDiv>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_div
