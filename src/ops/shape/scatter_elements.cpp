// SPDX-License-Identifier: Apache-2.0
// ScatterElements: a copy of data in which out[i, indices[i, j, k], k] is replaced by, or reduced with,
// updates[i, j, k] (axis 1).
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/shape/scatter_reduction.h"
#include "ops/strided_copy.h"

namespace wootz::op_scatter_elements {
namespace {

struct ScatterElementsAttributes {
  int64_t axis = 0;
  std::string reduction = "none";
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("reduction", reduction);
  }
};

void infer(InferContext& ctx) {
  ctx.check_same_dtype(0, 2);
  const auto attributes = ctx.attributes_as<ScatterElementsAttributes>();
  ctx.check(scatter_reduction(attributes.reduction).has_value(),
            "expected reduction none, add, mul, max or min, found " + attributes.reduction);
  if (ctx.has_rank(0)) {
    ctx.normalize_axis(attributes.axis, ctx.rank(0));
    ctx.check_rank(1, ctx.rank(0));
    ctx.check_rank(2, ctx.rank(0));
  }
  ctx.set_output(0, ctx.input(0));
}

void evaluate(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1), &updates = ctx.input(2);
  const auto attributes = ctx.attributes_as<ScatterElementsAttributes>();
  const auto reduction = scatter_reduction(attributes.reduction);
  ctx.check(reduction.has_value(),
            "expected reduction none, add, mul, max or min, found " + attributes.reduction);
  const auto axis = static_cast<size_t>(ctx.normalize_axis(attributes.axis, data.rank()));
  ctx.check(
      indices.dims() == updates.dims() && indices.rank() == data.rank() && updates.dtype() == data.dtype(),
      "expected indices and updates of equal dims, the data's rank and element type");
  for (size_t k = 0; k < data.dims().size(); ++k)
    ctx.check(k == axis || indices.dims()[k] <= data.dims()[k], "expected indices' dimension " +
                                                                    std::to_string(k) + " to be at most " +
                                                                    std::to_string(data.dims()[k]));
  Tensor& out = ctx.output(0, data.dtype(), data.dims());
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
  const Ints rows = indices.to_int64s();
  if (rows.empty()) return;
  const int64_t count = data.dims()[axis];
  const Dims strides = contiguous_strides(data.dims());
  Dims at(data.dims().size(), 0);
  int64_t i = 0;
  do {
    int64_t row = rows[static_cast<size_t>(i)];
    ctx.check(row >= -count && row < count, "expected indices in [" + std::to_string(-count) + ", " +
                                                std::to_string(count) + "), found " + std::to_string(row));
    if (row < 0) row += count;
    int64_t to = 0;
    for (size_t k = 0; k < at.size(); ++k) to += strides[k] * (k == axis ? row : at[k]);
    if (*reduction == ScatterReduction::kNone)
      copy_elements(data.dtype(), updates.data(), i, out.data(), to, 1);
    else
      scatter_run(out, to, updates, i, 1, *reduction);
    ++i;
  } while (next_index(indices.dims(), at));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor v = floats({1, 5}, {1, 2, 3, 4, 5}), at = ints({1, 2}, {1, 1}),
               u = floats({1, 2}, {1.5f, 2.25f});
  const std::pair<std::string, Attribute> axis1{"axis", int64_t{1}};
  return {make("rows", {Tensor::zeros(DType::kFloat32, {3, 3}), ints({2, 3}, {1, 0, 2, 0, 2, 1}),
                        counting(DType::kFloat32, {2, 3})}),
          make("negative", {v, ints({1, 2}, {1, -3}), u}, {axis1}),
          make("add twice", {v, at, u}, {axis1, {"reduction", std::string("add")}}),
          make("mul", {v, at, u}, {axis1, {"reduction", std::string("mul")}}),
          make("max", {v, at, u}, {axis1, {"reduction", std::string("max")}}),
          make("min of int8", {counting(DType::kInt8, {4}), ints({3, -1}), counting(DType::kInt8, {2})},
               {{"reduction", std::string("min")}}),
          make("empty", {v, Tensor::zeros(DType::kInt32, {1, 0}), Tensor::zeros(DType::kFloat32, {1, 0})},
               {axis1}),
          make("strings", {counting(DType::kString, {3}), ints({2}), counting(DType::kString, {1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "ScatterElements";
  def.doc =
      "A copy of data in which out[i, indices[i, j, k], k] (axis 1) is replaced by, or reduced with, "
      "updates[i, j, k].";
  def.since = 11;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<ScatterElementsAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_scatter_elements
