// SPDX-License-Identifier: Apache-2.0
// StringConcat: z = x + y for strings, with broadcasting.
#include <algorithm>

#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_string_concat {
namespace {

void infer(InferContext& ctx) {
  ctx.set_output(0, DType::kString);
  if (ctx.has_rank(0) && ctx.has_rank(1))
    ctx.set_output(0, DType::kString, ctx.broadcast(ctx.shape(0), ctx.shape(1)));
}

/// Strides that read `from` as if it had the dims `to`.
StridedSide broadcast_side(const Dims& from, const Dims& to) {
  const Dims strides = contiguous_strides(from);
  StridedSide side{0, Dims(to.size(), 0)};
  for (size_t k = 0; k < from.size(); ++k)
    if (from[k] != 1) side.strides[to.size() - from.size() + k] = strides[k];
  return side;
}

void evaluate(EvalContext& ctx) {
  const Tensor &x = ctx.input(0), &y = ctx.input(1);
  ctx.check(x.dtype() == DType::kString && y.dtype() == DType::kString, "expected two tensors of strings");
  const Dims operands[] = {x.dims(), y.dims()};
  const Dims dims = broadcast_dims(operands);
  Tensor& out = ctx.output(0, DType::kString, dims);
  Tensor ends = Tensor::zeros(DType::kString, dims);
  const StridedSide dense{0, contiguous_strides(dims)};
  copy_strided(DType::kString, dims, x.data(), broadcast_side(x.dims(), dims), out.data(), dense);
  copy_strided(DType::kString, dims, y.data(), broadcast_side(y.dims(), dims), ends.data(), dense);
  for (int64_t i = 0; i < out.size(); ++i) out.as<std::string>()[i] += ends.as<std::string>()[i];
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kString, {2, 2});
  return {make("equal dims", {x, x}),
          make("row", {x, counting(DType::kString, {2})}),
          make("column", {counting(DType::kString, {2, 1}), x}),
          make("scalar", {Tensor::strings({}, {"a"}), x}),
          make("scalars", {Tensor::strings({}, {"a"}), Tensor::strings({}, {""})}),
          make("empty", {counting(DType::kString, {0}), counting(DType::kString, {1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "StringConcat";
  def.doc = "z = x + y for strings, with broadcasting.";
  def.since = 20;
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_string_concat
