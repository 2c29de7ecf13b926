// SPDX-License-Identifier: Apache-2.0
// NonZero: the indices of the elements that are not zero, in row-major order, one column each: int64[rank,
// count].
#include "ir/element.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_non_zero {
namespace {

void infer(InferContext& ctx) {
  const auto upper = ctx.has_rank(0) ? known_upper_product(ctx.symbols(), ctx.shape(0)) : std::nullopt;
  const Dim count = ctx.unknown("nonzero", upper);
  ctx.set_output(0, DType::kInt64, {ctx.has_rank(0) ? Dim(ctx.rank(0)) : ctx.unknown("rank"), count});
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  Ints found;
  visit_numeric(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, n = x.size(); i < n; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        if (x.as<T>()[i] != 0) found.push_back(i);
      } else {
        if (static_cast<float>(x.as<T>()[i]) != 0) found.push_back(i);
      }
    }
  });
  const auto count = static_cast<int64_t>(found.size());
  const Dims strides = contiguous_strides(x.dims());
  Tensor& out = ctx.output(0, DType::kInt64, {x.rank(), count});
  for (size_t axis = 0; axis < strides.size(); ++axis)
    for (int64_t i = 0; i < count; ++i)
      out.as<int64_t>()[static_cast<int64_t>(axis) * count + i] =
          found[static_cast<size_t>(i)] / strides[axis] % x.dims()[axis];
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("matrix", {floats({2, 2}, {1, 0, -0.f, 3})}),
          make("bools", {bools({4}, {0, 1, 1, 0})}),
          make("all zero", {Tensor::zeros(DType::kInt32, {2, 3})}),
          make("scalar", {Tensor::scalar_float(2)}),
          make("zero scalar", {Tensor::scalar_float(0)}),
          make("empty", {Tensor::zeros(DType::kInt64, {2, 0})}),
          make("half", {counting(DType::kFloat16, {3})}),
          make("int4", {counting(DType::kInt4, {3})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "NonZero";
  def.doc =
      "The indices of the elements that are not zero, in row-major order, one column each: int64[rank, "
      "count].";
  def.since = 9;
  def.min_inputs = def.max_inputs = 1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_non_zero
