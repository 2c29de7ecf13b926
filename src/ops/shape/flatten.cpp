// SPDX-License-Identifier: Apache-2.0
// Flatten: a matrix of prod(dims[:axis]) rows and prod(dims[axis:]) columns.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_flatten {
namespace {

struct FlattenAttributes {
  int64_t axis = 1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

/// The axis may equal the rank.
template <class Context>
size_t split_axis(const Context& ctx, int64_t rank) {
  const int64_t axis = ctx.template attributes_as<FlattenAttributes>().axis;
  ctx.check(axis >= -rank && axis <= rank, "expected axis in [" + std::to_string(-rank) + ", " +
                                               std::to_string(rank) + "], found " + std::to_string(axis));
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

void infer(InferContext& ctx) {
  if (!ctx.has_rank(0)) return ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "flattened", 2));
  const size_t axis = split_axis(ctx, ctx.rank(0));
  const std::span<const Dim> dims = ctx.shape(0);
  ctx.set_output(0, ctx.dtype(0),
                 {ctx.symbols().product(dims.first(axis)), ctx.symbols().product(dims.subspan(axis))});
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const auto axis = static_cast<int64_t>(split_axis(ctx, data.rank()));
  Tensor& out =
      ctx.output(0, data.dtype(), {product(data.dims(), 0, axis), product(data.dims(), axis, data.rank())});
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("default", {counting(DType::kFloat32, {2, 3, 4})}),
          make("axis 0", {counting(DType::kFloat16, {2, 3})}, {{"axis", int64_t{0}}}),
          make("axis = rank", {counting(DType::kInt32, {2, 3})}, {{"axis", int64_t{2}}}),
          make("negative", {counting(DType::kInt8, {2, 3, 4})}, {{"axis", int64_t{-1}}}),
          make("scalar", {counting(DType::kFloat64, {})}, {{"axis", int64_t{0}}}),
          make("empty", {counting(DType::kString, {2, 0, 4})}, {{"axis", int64_t{2}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Flatten";
  def.doc = "A matrix of prod(dims[:axis]) rows and prod(dims[axis:]) columns.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<FlattenAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_flatten
