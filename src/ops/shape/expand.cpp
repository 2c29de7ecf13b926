// SPDX-License-Identifier: Apache-2.0
// Expand: the input broadcast with a shape operand, in both directions.
#include <algorithm>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_expand {
namespace {

/// The result when only the target's rank is known: dims of the input above 1 stay.
Shape expand_to_rank(InferContext& ctx, int64_t target_rank) {
  const Shape& from = ctx.shape(0);
  const auto rank = std::max(static_cast<int64_t>(from.size()), target_rank);
  Shape shape = unknown_shape(ctx, "expanded", rank);
  for (size_t i = 0; i < from.size(); ++i)
    if (ctx.symbols().lower_bound(from[i]) > 1) shape[shape.size() - from.size() + i] = from[i];
  return shape;
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  if (auto target = small_contents(ctx, 1)) {
    ctx.set_output(0, ctx.dtype(0), ctx.broadcast(ctx.shape(0), *target));
    auto from = small_contents(ctx, 0);
    if (from && from->size() == 1 && ctx.output(0)->rank() <= 1) {
      const Shape& shape = *ctx.output(0)->shape;
      const Dim count = shape.empty() ? Dim(1) : shape[0];
      if (count.is_constant() && count.value() <= kMaxContents)
        from = std::vector<Dim>(static_cast<size_t>(count.value()), from->front());
    }
    keep_contents(ctx, 0, std::move(from));
  } else if (auto rank = static_length(ctx, 1)) {
    ctx.set_output(0, ctx.dtype(0), expand_to_rank(ctx, *rank));
  }
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  Dims dims = ctx.input(1).to_int64s();
  if (dims.size() < data.dims().size()) dims.insert(dims.begin(), data.dims().size() - dims.size(), 1);
  const size_t lead = dims.size() - data.dims().size();
  const Dims strides = contiguous_strides(data.dims());
  StridedSide from, to;
  from.strides.assign(dims.size(), 0);
  for (size_t i = 0; i < data.dims().size(); ++i) {
    const int64_t have = data.dims()[i];
    int64_t& want = dims[lead + i];
    ctx.check(have == want || have == 1 || want == 1,
              "expected dimension " + std::to_string(have) + " to broadcast with " + std::to_string(want));
    if (want == 1) want = have;
    if (have != 1) from.strides[lead + i] = strides[i];
  }
  checked_count(dims, "Expand");
  to.strides = contiguous_strides(dims);
  Tensor& out = ctx.output(0, data.dtype(), dims);
  copy_strided(data.dtype(), dims, data.data(), from, out.data(), to);
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor column = counting(DType::kFloat32, {3, 1});
  return {make("both ways", {column, ints({2, 1, 6})}),
          make("shorter target", {counting(DType::kInt32, {2, 3}), ints({3})}),
          make("ones keep", {counting(DType::kFloat16, {3, 4}), ints({1, 1})}),
          make("scalar", {counting(DType::kFloat64, {}), ints({2, 2})}),
          make("to scalar", {counting(DType::kInt64, {}), ints(std::vector<int64_t>{})}),
          make("to empty", {column, ints({3, 0})}),
          make("strings", {counting(DType::kString, {1, 2}), ints({2, 1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Expand";
  def.doc = "The input broadcast with the shape operand, in both directions.";
  def.since = 8;
  def.min_inputs = def.max_inputs = 2;
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_expand
