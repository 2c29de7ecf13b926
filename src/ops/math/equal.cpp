// SPDX-License-Identifier: Apache-2.0
#include "ops/elements.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_equal {
namespace {

constexpr DTypeSet kTypes = kNumberTypes | kBoolType | DTypeSet{DType::kString};

void infer(InferContext& c) {
  infer_elementwise(c, kTypes, DType::kBool);
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
    if (symbols.equal(x[0], x[1])) return Dim(1);
    const Dim difference = x[0] - x[1];
    if (symbols.lower_bound(difference) > 0 || symbols.upper_bound(difference) < 0) return Dim(0);
    return std::nullopt;
  });
}

void compare_strings(EvalContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const Dims dims[] = {a.dims(), b.dims()};
  Tensor& y = c.output(0, DType::kBool, broadcast_dims(dims));
  for_each_block(y.dims(), dims, [&](int64_t start, std::span<const std::span<const int64_t>> at) {
    for (size_t i = 0; i < at[0].size(); ++i)
      y.as<bool>()[static_cast<size_t>(start) + i] =
          a.as<std::string>()[at[0][i]] == b.as<std::string>()[at[1][i]];
  });
}

void evaluate(EvalContext& c) {
  if (c.input(0).dtype() == DType::kString && c.input(1).dtype() == DType::kString) return compare_strings(c);
  evaluate_compare(c, {.real = [](double a, double b) { return a == b; },
                       .integer = [](int64_t a, int64_t b) { return a == b; },
                       .natural = [](uint64_t a, uint64_t b) { return a == b; }});
}

std::vector<Sample> samples() {
  std::vector<Sample> list = binary_samples(kNumberTypes | kBoolType, {-2, 2}, {-2, 2});
  list.push_back({"strings", {Tensor::strings({2, 1}, {"a", "b"}), Tensor::strings({3}, {"b", "a", ""})}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Equal", "Whether a = b; NaN equals nothing.", 2, 1);
  def.canonicalize = canonicalize_axis_broadcast;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kEqual>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_equal
