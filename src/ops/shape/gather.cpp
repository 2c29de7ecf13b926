// SPDX-License-Identifier: Apache-2.0
// Gather: out[a..., i..., b...] = data[a..., indices[i...], b...] where `axis` is replaced by the indices'
// dims. Negative indices count from the end.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_gather {
namespace {

struct GatherAttributes {
  int64_t axis = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

void gather_contents(InferContext& ctx) {
  const auto data = small_contents(ctx, 0);
  const auto indices = ctx.output(0)->rank() <= 1 && small_contents(ctx, 1) ? ctx.ints(1) : std::nullopt;
  if (!data || !indices) return;
  const auto count = static_cast<int64_t>(data->size());
  std::vector<Dim> out;
  for (int64_t index : *indices) {
    ctx.check(index >= -count && index < count, "expected indices in [" + std::to_string(-count) + ", " +
                                                    std::to_string(count) + "), found " +
                                                    std::to_string(index));
    out.push_back((*data)[static_cast<size_t>(index < 0 ? index + count : index)]);
  }
  keep_contents(ctx, 0, std::move(out));
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  const auto axis = ctx.normalize_axis(ctx.attributes_as<GatherAttributes>().axis, ctx.rank(0));
  if (!ctx.has_rank(1)) return;
  const Shape& data = ctx.shape(0);
  const Shape& indices = ctx.shape(1);
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (ctx.rank(0) == 1) gather_contents(ctx);
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& indices = ctx.input(1);
  const int64_t axis = ctx.normalize_axis(ctx.attributes_as<GatherAttributes>().axis, data.rank());
  const int64_t count = data.dims()[static_cast<size_t>(axis)];
  Dims dims(data.dims().begin(), data.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + axis + 1, data.dims().end());
  checked_count(dims, "Gather");
  const int64_t outer = product(data.dims(), 0, axis), inner = product(data.dims(), axis + 1, data.rank());
  Ints rows = indices.to_int64s();
  for (int64_t& row : rows) {
    ctx.check(row >= -count && row < count, "expected indices in [" + std::to_string(-count) + ", " +
                                                std::to_string(count) + "), found " + std::to_string(row));
    if (row < 0) row += count;
  }
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row : rows) {
      copy_elements(data.dtype(), data.data(), (o * count + row) * inner, out.data(), to, inner);
      to += inner;
    }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {3, 4});
  return {make("rows", {x, ints({2, 2}, {0, 1, 2, 0})}),
          make("columns", {x, ints({3, 0})}, {{"axis", int64_t{1}}}),
          make("negative", {counting(DType::kInt32, {6}), int32s({3}, {-1, -3, -5})}),
          make("scalar index", {x, Tensor::scalar_int64(-1)}, {{"axis", int64_t{-1}}}),
          make("scalar from vector", {counting(DType::kInt64, {3}), Tensor::scalar_int64(1)}),
          make("no indices", {x, ints(std::vector<int64_t>{})}),
          make("empty rows", {counting(DType::kFloat16, {2, 0}), ints({1, 0})}),
          make("strings", {counting(DType::kString, {3}), ints({2, 0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Gather";
  def.doc = "out[a..., i..., b...] = data[a..., indices[i...], b...], the indices' dims in place of `axis`.";
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<GatherAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_gather
