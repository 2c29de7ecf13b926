// SPDX-License-Identifier: Apache-2.0
// CenterCropPad: each of the axes is cropped to its middle or padded with zeros on both sides to the wanted
// size; the odd element goes to the right.
#include <algorithm>
#include <numeric>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_center_crop_pad {
namespace {

struct CenterCropPadAttributes {
  std::optional<Ints> axes;
  template <class V>
  void reflect(V& v) {
    v("axes", axes);
  }
};

template <class Context>
Ints checked_axes(const Context& ctx, int64_t rank) {
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  const auto given = ctx.template attributes_as<CenterCropPadAttributes>().axes;
  if (!given) return axes;
  axes = *given;
  for (int64_t& axis : axes) axis = ctx.normalize_axis(axis, rank);
  return axes;
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  Shape shape = ctx.shape(0);
  const Ints axes = checked_axes(ctx, ctx.rank(0));
  const auto sizes = small_contents(ctx, 1);
  ctx.check(!sizes || sizes->size() == axes.size(),
            "expected one size for each of the " + std::to_string(axes.size()) + " axes");
  for (size_t i = 0; i < axes.size(); ++i)
    shape[static_cast<size_t>(axes[i])] = sizes ? (*sizes)[i] : ctx.unknown("cropped");
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const Ints axes = checked_axes(ctx, x.rank()), sizes = ctx.input(1).to_int64s();
  ctx.check(sizes.size() == axes.size(), "expected one size for each of the " + std::to_string(axes.size()) +
                                             " axes, found " + std::to_string(sizes.size()));
  Dims dims = x.dims();
  for (size_t i = 0; i < axes.size(); ++i) dims[static_cast<size_t>(axes[i])] = sizes[i];
  checked_count(dims, "CenterCropPad");
  StridedSide from{0, contiguous_strides(x.dims())}, to{0, contiguous_strides(dims)};
  Dims box;
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t cropped = std::max<int64_t>(x.dims()[k] - dims[k], 0),
                  padded = std::max<int64_t>(dims[k] - x.dims()[k], 0);
    from.offset += cropped / 2 * from.strides[k];
    to.offset += padded / 2 * to.strides[k];
    box.push_back(std::min(x.dims()[k], dims[k]));
  }
  Tensor& out = ctx.output(0, x.dtype(), dims);
  fill_elements(Tensor::zeros(x.dtype(), {}).data(), 0, out);
  copy_strided(x.dtype(), box, x.data(), from, out.data(), to);
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {5, 4});
  return {make("crop", {x, ints({2, 2})}),
          make("pad", {x, ints({8, 7})}),
          make("crop and pad", {x, ints({4, 7})}),
          make("one axis", {x, ints({9})}, {{"axes", Ints{-1}}}),
          make("to nothing", {x, ints({0, 4})}),
          make("from nothing", {counting(DType::kInt32, {0}), int32s({1}, {3})}),
          make("axes in any order", {x, ints({2, 3})}, {{"axes", Ints{1, 0}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "CenterCropPad";
  def.doc =
      "Each of the axes is cropped to its middle or padded with zeros on both sides to the wanted size.";
  def.since = 18;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<CenterCropPadAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_center_crop_pad
