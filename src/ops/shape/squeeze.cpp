// SPDX-License-Identifier: Apache-2.0
// Squeeze: drops the dims of size 1 at `axes`; without axes, all dims of size 1.
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_squeeze {
namespace {

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() < 13) ctx.attribute_to_input("axes", 1);
}

void squeeze_given_axes(InferContext& ctx, const Ints& axes) {
  std::vector<bool> drop(ctx.shape(0).size(), false);
  for (int64_t axis : axes) drop[static_cast<size_t>(ctx.normalize_axis(axis, ctx.rank(0)))] = true;
  Shape shape;
  for (size_t i = 0; i < drop.size(); ++i) {
    if (drop[i])
      ctx.equate(ctx.shape(0)[i], 1, "squeezed dimension");
    else
      shape.push_back(ctx.shape(0)[i]);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

void squeeze_all(InferContext& ctx) {
  SymbolTable& symbols = ctx.symbols();
  Shape shape;
  for (const Dim& d : ctx.shape(0)) {
    if (symbols.resolve(d).is(1)) continue;
    if (symbols.lower_bound(d) <= 1 && symbols.upper_bound(d) >= 1) return ctx.set_output(0, ctx.dtype(0));
    shape.push_back(d);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

void infer(InferContext& ctx) {
  if (!ctx.has_rank(0)) {
    ctx.set_output(0, ctx.dtype(0));
  } else if (!ctx.has_input(1)) {
    squeeze_all(ctx);
  } else if (auto axes = ctx.ints(1)) {
    squeeze_given_axes(ctx, *axes);
  } else if (auto count = static_length(ctx, 1); count && *count <= ctx.rank(0)) {
    ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "squeezed", ctx.rank(0) - *count));
  } else {
    ctx.set_output(0, ctx.dtype(0));
  }
  keep_contents(ctx, 0, small_contents(ctx, 0));
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  std::vector<bool> drop(data.dims().size(), false);
  if (ctx.has_input(1)) {
    for (int64_t axis : ctx.input(1).to_int64s()) {
      const auto i = static_cast<size_t>(ctx.normalize_axis(axis, data.rank()));
      ctx.check(data.dims()[i] == 1, "expected size 1 at squeezed axis " + std::to_string(i) + ", found " +
                                         std::to_string(data.dims()[i]));
      drop[i] = true;
    }
  } else {
    for (size_t i = 0; i < drop.size(); ++i) drop[i] = data.dims()[i] == 1;
  }
  Dims dims;
  for (size_t i = 0; i < drop.size(); ++i)
    if (!drop[i]) dims.push_back(data.dims()[i]);
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("one axis", {counting(DType::kFloat32, {1, 3, 1, 5}), ints({0})}),
          make("negative axes", {counting(DType::kFloat16, {1, 3, 1, 5}), ints({-2, 0})}),
          make("all", {counting(DType::kInt32, {1, 3, 1, 5})}),
          make("to scalar", {counting(DType::kInt64, {1}), ints({0})}),
          make("nothing", {counting(DType::kBool, {2, 3}), ints(std::vector<int64_t>{})}),
          make("scalar", {counting(DType::kFloat64, {})}),
          make("empty strings", {counting(DType::kString, {0, 1}), ints({1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Squeeze";
  def.doc = "Drops the dimensions of size 1 at `axes`; without axes, every dimension of size 1.";
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_squeeze
