// SPDX-License-Identifier: Apache-2.0
#include "ir/element.h"
#include "ops/elements.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_where {
namespace {

void infer(InferContext& c) {
  check_dtype(c, 0, kBoolType);
  c.check_same_dtype(1, 2);
  Type type = Type::tensor(c.dtype(1));
  type.shape = broadcast_inputs(c);
  c.set_output(0, std::move(type));
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
    if (x[0].is_constant()) return x[0].is(0) ? x[2] : x[1];
    return symbols.equal(x[1], x[2]) ? std::optional(x[1]) : std::nullopt;
  });
}

void evaluate(EvalContext& c) {
  const Tensor &condition = c.input(0), &a = c.input(1), &b = c.input(2);
  c.check(condition.dtype() == DType::kBool, "input 0: expected bool");
  c.check(a.dtype() == b.dtype(), "inputs 1 and 2: expected one element type");
  const Dims dims[] = {condition.dims(), a.dims(), b.dims()};
  Tensor& y = c.output(0, a.dtype(), broadcast_dims(dims));
  const bool* test = condition.as<bool>();
  visit_storage(a.dtype(), [&](auto kind) {
    using T = decltype(kind);
    for_each_block(y.dims(), dims, [&](int64_t start, std::span<const std::span<const int64_t>> at) {
      T* to = y.as<T>() + start;
      for (size_t i = 0; i < at[0].size(); ++i)
        to[i] = test[at[0][i]] ? a.as<T>()[at[1][i]] : b.as<T>()[at[2][i]];
    });
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  const Tensor condition = number_tensor(DType::kBool, {2, 3}, {1, 0, 1, 0, 0, 1});
  for (const Sample& sample : binary_samples(kNumberTypes | kBoolType, {-9, 9}, {-9, 9})) {
    // The condition broadcasts against the operands of the binary samples.
    list.push_back(
        {sample.label, {number_tensor(DType::kBool, {}, {1}), sample.inputs[0], sample.inputs[1]}});
  }
  const Tensor a = spread_tensor(DType::kFloat32, {2, 3}, 1, 2),
               b = spread_tensor(DType::kFloat32, {3}, -2, -1, 2);
  list.push_back({"mixed condition", {condition, a, b}});
  list.push_back({"condition broadcasts", {number_tensor(DType::kBool, {2, 1}, {0, 1}), b, a}});
  list.push_back({"strings", {condition, Tensor::strings({1}, {"yes"}), Tensor::strings({}, {"no"})}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Where", "y = condition ? a : b, any dtype.", 3, 9);
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kWhere>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_where
