// SPDX-License-Identifier: Apache-2.0
// ScatterND: a copy of data in which each slice out[indices[i..., :]] is replaced by, or reduced with,
// updates[i...].
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/shape/scatter_reduction.h"
#include "ops/strided_copy.h"

namespace wootz::op_scatter_nd {
namespace {

struct ScatterNdAttributes {
  std::string reduction = "none";
  template <class V>
  void reflect(V& v) {
    v("reduction", reduction);
  }
};

/// Elements of a vector replaced at constant places, as exporters build shapes.
void scatter_contents(InferContext& ctx, const std::string& reduction) {
  if (reduction != "none" || !ctx.has_rank(0) || ctx.rank(0) != 1 || !ctx.constant(1)) return;
  auto data = small_contents(ctx, 0);
  const auto updates = small_contents(ctx, 2);
  if (!data || !updates) return;
  const Ints at = ctx.constant(1)->to_int64s();
  if (at.size() != updates->size()) return;
  const auto count = static_cast<int64_t>(data->size());
  for (size_t i = 0; i < at.size(); ++i) {
    ctx.check(at[i] >= -count && at[i] < count, "expected indices in [" + std::to_string(-count) + ", " +
                                                    std::to_string(count) + "), found " +
                                                    std::to_string(at[i]));
    (*data)[static_cast<size_t>(at[i] < 0 ? at[i] + count : at[i])] = (*updates)[i];
  }
  keep_contents(ctx, 0, std::move(data));
}

void infer(InferContext& ctx) {
  ctx.check_same_dtype(0, 2);
  const std::string reduction = ctx.attributes_as<ScatterNdAttributes>().reduction;
  ctx.check(scatter_reduction(reduction).has_value(),
            "expected reduction none, add, mul, max or min, found " + reduction);
  ctx.set_output(0, ctx.input(0));
  scatter_contents(ctx, reduction);
}

void evaluate(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1), &updates = ctx.input(2);
  const auto reduction = scatter_reduction(ctx.attributes_as<ScatterNdAttributes>().reduction);
  ctx.check(reduction.has_value(), "expected reduction none, add, mul, max or min");
  ctx.check(data.rank() > 0 && indices.rank() > 0, "expected data and indices of rank >= 1");
  const int64_t tuple = indices.dims().back();
  ctx.check(tuple <= data.rank(), "expected index tuples of at most " + std::to_string(data.rank()) +
                                      " elements, found " + std::to_string(tuple));
  Dims expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), data.dims().begin() + tuple, data.dims().end());
  ctx.check(updates.dims() == expected && updates.dtype() == data.dtype(),
            "expected updates with the indices' dims but the last, then the slice's dims, in the data's "
            "element type");
  Tensor& out = ctx.output(0, data.dtype(), data.dims());
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
  const Dims strides = contiguous_strides(data.dims());
  const int64_t slice = product(data.dims(), tuple, data.rank());
  const int64_t count = product(indices.dims(), 0, indices.rank() - 1);
  const Ints tuples = indices.to_int64s();
  for (int64_t i = 0; i < count; ++i) {
    int64_t to = 0;
    for (int64_t k = 0; k < tuple; ++k) {
      const int64_t dim = data.dims()[static_cast<size_t>(k)];
      const int64_t row = tuples[static_cast<size_t>(i * tuple + k)];
      ctx.check(row >= -dim && row < dim, "expected indices in [" + std::to_string(-dim) + ", " +
                                              std::to_string(dim) + "), found " + std::to_string(row));
      to += (row < 0 ? row + dim : row) * strides[static_cast<size_t>(k)];
    }
    if (*reduction == ScatterReduction::kNone)
      copy_elements(data.dtype(), updates.data(), i * slice, out.data(), to, slice);
    else
      scatter_run(out, to, updates, i * slice, slice, *reduction);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor v = counting(DType::kFloat32, {8}), m = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor twice = ints({2, 2}, {0, 0, 0, 0}), u = floats({2}, {-2, 3});
  auto reduce = [](const char* name) {
    return std::vector<std::pair<std::string, Attribute>>{{"reduction", std::string(name)}};
  };
  return {
      make("elements", {v, ints({4, 1}, {4, 3, 1, 7}), floats({4}, {9, 10, 11, 12})}),
      make("rows", {m, ints({1, 1}, {-1}), floats({1, 3}, {7, 8, 9})}),
      make("add duplicates", {m, twice, u}, reduce("add")),
      make("mul duplicates", {m, twice, u}, reduce("mul")),
      make("max", {m, twice, u}, reduce("max")),
      make("min", {m, twice, u}, reduce("min")),
      make("add half", {counting(DType::kFloat16, {3}), ints({2, 1}, {1, 1}), counting(DType::kFloat16, {2})},
           reduce("add")),
      make("no updates", {v, Tensor::zeros(DType::kInt64, {0, 1}), Tensor::zeros(DType::kFloat32, {0})}),
      make("strings", {counting(DType::kString, {3}), ints({1, 1}, {2}), counting(DType::kString, {1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "ScatterND";
  def.doc =
      "A copy of data in which each slice out[indices[i..., :]] is replaced by, or reduced with, "
      "updates[i...].";
  def.since = 11;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<ScatterNdAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_scatter_nd
