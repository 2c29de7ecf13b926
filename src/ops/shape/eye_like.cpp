// SPDX-License-Identifier: Apache-2.0
// EyeLike: out[i, j] = (j == i + k), a matrix of the input's dims.
#include "ir/element.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_eye_like {
namespace {

struct EyeLikeAttributes {
  std::optional<int64_t> dtype;  // the input's when absent
  int64_t k = 0;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("k", k);
  }
};

template <class Context>
DType result_dtype(const Context& ctx, DType of_input) {
  const auto chosen = ctx.template attributes_as<EyeLikeAttributes>().dtype;
  ctx.check(!chosen || (*chosen > 0 && *chosen < kDTypeCount), "expected an element type number as dtype");
  return chosen ? static_cast<DType>(*chosen) : of_input;
}

void infer(InferContext& ctx) {
  ctx.check_rank(0, 2);
  const DType dtype = result_dtype(ctx, ctx.dtype(0));
  if (ctx.has_rank(0))
    ctx.set_output(0, dtype, ctx.shape(0));
  else
    ctx.set_output(0, dtype, {ctx.unknown("rows"), ctx.unknown("columns")});
}

void evaluate(EvalContext& ctx) {
  const Tensor& input = ctx.input(0);
  ctx.check(input.rank() == 2, "expected a matrix, found rank " + std::to_string(input.rank()));
  const int64_t k = ctx.attributes_as<EyeLikeAttributes>().k, rows = input.dims()[0],
                columns = input.dims()[1];
  Tensor& out = ctx.output(0, result_dtype(ctx, input.dtype()), input.dims());
  visit_numeric(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const bool one = j - i == k;
        if constexpr (std::is_arithmetic_v<T>)
          out.as<T>()[i * columns + j] = static_cast<T>(one);
        else if constexpr (requires { static_cast<int64_t>(zero); })
          out.as<T>()[i * columns + j] = T(int64_t{one});
        else
          out.as<T>()[i * columns + j] = T(one ? 1.0f : 0.0f);
      }
  });
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {3, 4});
  auto k = [](int64_t v) { return std::vector<std::pair<std::string, Attribute>>{{"k", v}}; };
  return {make("diagonal", {x}),
          make("above", {x}, k(1)),
          make("below", {x}, k(-2)),
          make("outside", {x}, k(100)),
          make("as int64", {x}, {{"dtype", int64_t{7}}}),
          make("empty", {counting(DType::kInt32, {0, 3})}),
          make("as half", {counting(DType::kInt32, {2, 2})}, {{"dtype", int64_t{10}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "EyeLike";
  def.doc = "out[i, j] = (j == i + k), a matrix of the input's dims.";
  def.since = 9;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<EyeLikeAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_eye_like
