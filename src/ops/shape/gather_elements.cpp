// SPDX-License-Identifier: Apache-2.0
// GatherElements: out[i, j, k] = data[i, indices[i, j, k], k] for axis 1; the indices' dims are the result's.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_gather_elements {
namespace {

struct GatherElementsAttributes {
  int64_t axis = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

void infer(InferContext& ctx) {
  if (ctx.has_rank(0)) {
    ctx.normalize_axis(ctx.attributes_as<GatherElementsAttributes>().axis, ctx.rank(0));
    ctx.check_rank(1, ctx.rank(0));
  }
  if (ctx.has_rank(1))
    ctx.set_output(0, ctx.dtype(0), ctx.shape(1));
  else if (ctx.has_rank(0)) {
    Shape shape;
    for (int64_t i = 0; i < ctx.rank(0); ++i) shape.push_back(ctx.unknown("gathered"));
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
  } else {
    ctx.set_output(0, ctx.dtype(0));
  }
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& indices = ctx.input(1);
  const auto axis = static_cast<size_t>(
      ctx.normalize_axis(ctx.attributes_as<GatherElementsAttributes>().axis, data.rank()));
  ctx.check(indices.rank() == data.rank(), "expected indices of the data's rank " +
                                               std::to_string(data.rank()) + ", found " +
                                               std::to_string(indices.rank()));
  for (size_t k = 0; k < data.dims().size(); ++k)
    ctx.check(k == axis || indices.dims()[k] <= data.dims()[k],
              "expected indices' dimension " + std::to_string(k) + " to be at most " +
                  std::to_string(data.dims()[k]) + ", found " + std::to_string(indices.dims()[k]));
  const int64_t count = data.dims()[axis];
  const Dims strides = contiguous_strides(data.dims());
  const Ints rows = indices.to_int64s();
  Tensor& out = ctx.output(0, data.dtype(), indices.dims());
  if (rows.empty()) return;
  Dims at(data.dims().size(), 0);
  size_t i = 0;
  do {
    const int64_t row = rows[i] < 0 ? rows[i] + count : rows[i];
    ctx.check(row >= 0 && row < count, "expected indices in [" + std::to_string(-count) + ", " +
                                           std::to_string(count) + "), found " + std::to_string(rows[i]));
    int64_t from = 0;
    for (size_t k = 0; k < at.size(); ++k) from += strides[k] * (k == axis ? row : at[k]);
    copy_elements(data.dtype(), data.data(), from, out.data(), static_cast<int64_t>(i), 1);
    ++i;
  } while (next_index(indices.dims(), at));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {3, 3});
  return {make("axis 0", {x, ints({2, 3}, {1, 2, 0, 2, 0, 0})}),
          make("axis 1", {x, ints({3, 2}, {0, 0, 1, 0, 2, 1})}, {{"axis", int64_t{1}}}),
          make("negative", {x, int32s({2, 3}, {-1, -2, 0, -2, 0, 0})}, {{"axis", int64_t{-2}}}),
          make("longer than the data", {counting(DType::kInt8, {2}), ints({0, 1, 1, 0, -1})}),
          make("empty", {x, Tensor::zeros(DType::kInt64, {0, 3})}),
          make("strings", {counting(DType::kString, {2, 2}), ints({2, 1}, {1, 0})}, {{"axis", int64_t{1}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "GatherElements";
  def.doc = "out[i, j, k] = data[i, indices[i, j, k], k] for axis 1; the indices' dims are the result's.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<GatherElementsAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_gather_elements
