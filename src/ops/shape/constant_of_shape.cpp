// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape: a tensor of the dims `input` filled with `value` (float32 zero by default).
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_constant_of_shape {
namespace {

struct ConstantOfShapeAttributes {
  Tensor value = Tensor::scalar_float(0);
  template <class V>
  void reflect(V& v) {
    v("value", value);
  }
};

void infer(InferContext& ctx) {
  const Tensor value = ctx.attributes_as<ConstantOfShapeAttributes>().value;
  ctx.check(value.size() == 1, "expected a value of one element, found " + std::to_string(value.size()));
  ctx.set_output(0, value.dtype());
  if (const auto dims = small_contents(ctx, 0)) {
    for (const Dim& d : *dims) ctx.check(ctx.symbols().upper_bound(d) >= 0, "expected dimensions >= 0");
    ctx.set_output(0, value.dtype(), Shape(dims->begin(), dims->end()));
    if (dims->size() > 1 || !is_integer(value.dtype())) return;
    const Dim count = dims->empty() ? Dim(1) : dims->front();
    if (count.is_constant() && count.value() <= kMaxContents)
      keep_contents(ctx, 0, std::vector<Dim>(static_cast<size_t>(count.value()), Dim(value.to_int64s()[0])));
  } else if (const auto rank = static_length(ctx, 0)) {
    ctx.set_output(0, value.dtype(), unknown_shape(ctx, "filled", *rank));
  }
}

void evaluate(EvalContext& ctx) {
  const Tensor value = ctx.attributes_as<ConstantOfShapeAttributes>().value;
  ctx.check(value.size() == 1, "expected a value of one element, found " + std::to_string(value.size()));
  Dims dims = ctx.input(0).to_int64s();
  checked_count(dims, "ConstantOfShape");
  fill_elements(value.data(), 0, ctx.output(0, value.dtype(), std::move(dims)));
}

std::vector<Sample> samples() {
  using namespace sample;
  auto value = [](Tensor t) {
    return std::vector<std::pair<std::string, Attribute>>{{"value", std::move(t)}};
  };
  return {make("default", {ints({2, 3})}),
          make("ones", {ints({4})}, value(ints({1}))),
          make("scalar", {ints(std::vector<int64_t>{})}, value(floats({1}, {2.5f}))),
          make("empty", {ints({2, 0})}, value(bools({1}, {1}))),
          make("half", {ints({3})}, value(counting(DType::kFloat16, {1}))),
          make("int4", {ints({3})}, value(counting(DType::kInt4, {1})))};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "ConstantOfShape";
  def.doc = "A tensor of the dims `input` filled with `value` (float32 zero by default).";
  def.since = 9;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<ConstantOfShapeAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_constant_of_shape
