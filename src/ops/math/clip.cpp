// SPDX-License-Identifier: Apache-2.0
// Where min > max, max wins. Absent bounds do not clip (Clip-6 clips infinities to the largest finite number;
// nobody relies on that).
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_clip {
namespace {

void canonicalize(CanonicalizeContext& c) {
  if (c.opset() >= 11) return;
  Node& node = c.node();
  node.attributes.erase("consumed_inputs");
  const DType dtype = node.input(0) ? node.input(0)->type.dtype : DType::kUndefined;
  c.scalar_attribute_to_input("min", 1, dtype == DType::kUndefined ? DType::kFloat32 : dtype);
  c.scalar_attribute_to_input("max", 2, dtype == DType::kUndefined ? DType::kFloat32 : dtype);
}

void infer(InferContext& c) {
  check_dtype(c, 0, kNumberTypes);
  for (size_t i = 1; i < c.input_count(); ++i)
    if (c.has_input(i)) c.check_same_dtype(0, i);
  c.set_output(0, c.input(0));
  auto x = c.contents(0);
  const auto low = c.contents(1), high = c.contents(2);
  if (!x || (c.has_input(1) && !low) || (c.has_input(2) && !high)) return;
  for (Dim& each : *x) {
    if (low && low->size() == 1) each = c.symbols().max(each, low->front());
    if (high && high->size() == 1) each = c.symbols().min(each, high->front());
  }
  c.set_contents(0, std::move(*x));
}

template <class T, class F>
auto clipped(std::optional<T> low, std::optional<T> high, F is_nan) {
  return [=](T a) {
    if (is_nan(a)) return a;
    if (low && a < *low) a = *low;
    return high && a > *high ? *high : a;
  };
}

template <class T>
auto clipped_integers(const EvalContext& c) {
  std::optional<T> bounds[2];
  for (size_t i = 0; i < 2; ++i)
    if (c.has_input(i + 1)) bounds[i] = static_cast<T>(c.input(i + 1).to_int64s()[0]);
  return clipped<T>(bounds[0], bounds[1], [](T) { return false; });
}

void evaluate(EvalContext& c) {
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has_input(i)) continue;
    c.check(c.input(i).size() == 1, "input " + std::to_string(i) + ": expected one element");
    c.check(c.input(i).dtype() == c.input(0).dtype(), "expected bounds of the element type of the input");
  }
  if (!is_float(c.input(0).dtype()))
    return evaluate_unary(
        c, {.integer = clipped_integers<int64_t>(c), .natural = clipped_integers<uint64_t>(c)});
  std::optional<double> bounds[2];
  for (size_t i = 0; i < 2; ++i)
    if (c.has_input(i + 1)) bounds[i] = only_double(c.input(i + 1), i == 0 ? "min" : "max");
  evaluate_unary(
      c, {.reals = each(clipped<double>(bounds[0], bounds[1], [](double a) { return std::isnan(a); }))});
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (const Sample& sample : unary_samples(kNumberTypes, -9, 9)) {
    const DType dtype = sample.inputs[0].tensor.dtype();
    list.push_back(
        {sample.label, {sample.inputs[0], number_tensor(dtype, {}, {1}), number_tensor(dtype, {}, {5})}});
  }
  const Tensor x = spread_tensor(DType::kFloat32, {2, 5}, -9, 9), one = Tensor::scalar_float(1),
               two = Tensor::scalar_float(2);
  list.push_back({"no bounds", {x}});
  list.push_back({"low only", {x, one}});
  list.push_back({"high only", {x, Datum(), one}});
  list.push_back({"crossed bounds", {x, two, one}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Clip", "min(max(x, low), high).", 1, 1);
  def.max_inputs = 3;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kClip>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_clip
