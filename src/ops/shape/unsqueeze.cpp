// SPDX-License-Identifier: Apache-2.0
// Unsqueeze: puts dims of size 1 at `axes` (positions in the output).
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_unsqueeze {
namespace {

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() < 13) ctx.attribute_to_input("axes", 1);
}

/// Which output dims are new.
template <class Context>
std::vector<bool> new_dims(const Context& ctx, int64_t rank, const Ints& axes) {
  const int64_t out_rank = rank + static_cast<int64_t>(axes.size());
  std::vector<bool> is_new(static_cast<size_t>(out_rank), false);
  for (int64_t axis : axes) {
    const auto i = static_cast<size_t>(ctx.normalize_axis(axis, out_rank));
    ctx.check(!is_new[i], "expected distinct axes, found axis " + std::to_string(i) + " twice");
    is_new[i] = true;
  }
  return is_new;
}

template <class D>
std::vector<D> insert_ones(const std::vector<D>& dims, const std::vector<bool>& is_new) {
  std::vector<D> out;
  auto next = dims.begin();
  for (bool one : is_new) out.push_back(one ? D(1) : *next++);
  return out;
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  if (auto axes = ctx.ints(1))
    ctx.set_output(0, ctx.dtype(0), insert_ones(ctx.shape(0), new_dims(ctx, ctx.rank(0), *axes)));
  else if (auto count = static_length(ctx, 1))
    ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "unsqueezed", ctx.rank(0) + *count));
  keep_contents(ctx, 0, small_contents(ctx, 0));
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  Tensor& out = ctx.output(0, data.dtype(),
                           insert_ones(data.dims(), new_dims(ctx, data.rank(), ctx.input(1).to_int64s())));
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("front", {counting(DType::kFloat32, {3, 4}), ints({0})}),
          make("unsorted", {counting(DType::kFloat16, {3, 4}), ints({3, 0})}),
          make("negative", {counting(DType::kInt32, {3, 4}), ints({-1, -3})}),
          make("scalar", {counting(DType::kInt64, {}), ints({0})}),
          make("scalar axis", {counting(DType::kInt64, {2}), Tensor::scalar_int64(1)}),
          make("no axes", {counting(DType::kBool, {2}), ints(std::vector<int64_t>{})}),
          make("empty strings", {counting(DType::kString, {0, 2}), ints({1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Unsqueeze";
  def.doc = "Puts dimensions of size 1 at `axes`, which count in the output.";
  def.min_inputs = def.max_inputs = 2;
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_unsqueeze
