// SPDX-License-Identifier: Apache-2.0
#include "ops/running.h"

#include "ir/element.h"
#include "ops/contents.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

/// The type in which T accumulates.
template <class T>
auto wide(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(v);
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<uint64_t>(v);
  else if constexpr (requires { static_cast<int64_t>(v); })
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  else
    return static_cast<double>(v);
}

template <class T, class W>
T narrow(W v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(v);
  else if constexpr (std::is_same_v<W, uint64_t>)
    return T(static_cast<int64_t>(v));
  else
    return T(v);
}

template <class T>
void run_row(const T* in, T* out, int64_t count, int64_t stride, const RunningAttributes& a,
             bool multiplies) {
  auto total = wide(T{});
  if (multiplies) total = 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = (a.reverse ? count - 1 - i : i) * stride;
    const auto before = total;
    if (multiplies)
      total *= wide(in[at]);
    else
      total += wide(in[at]);
    out[at] = narrow<T>(a.exclusive ? before : total);
  }
}

void infer_running(InferContext& context) {
  if (context.has_rank(0))
    if (const auto axis = scalar_int(context, 1)) context.normalize_axis(*axis, context.rank(0));
  context.set_output(0, context.input(0));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), first = Tensor::scalar_int64(0);
  const std::pair<std::string, Attribute> exclusive{"exclusive", int64_t{1}}, reverse{"reverse", int64_t{1}};
  return {make("columns", {x, first}),
          make("negative axis", {x, int32s({}, {-1})}),
          make("exclusive", {x, ints({1})}, {exclusive}),
          make("reverse", {x, first}, {reverse}),
          make("both", {ints({3}, {1, 2, 3}), first}, {exclusive, reverse}),
          make("empty", {Tensor::zeros(DType::kFloat64, {0, 2}), first}),
          make("half", {counting(DType::kFloat16, {4}), first})};
}

}  // namespace

void evaluate_running(EvalContext& context, bool multiplies) {
  const Tensor& x = context.input(0);
  context.check(context.input(1).size() == 1, "expected axis to be one integer");
  const int64_t axis = context.normalize_axis(context.input(1).to_int64s()[0], x.rank());
  const auto attributes = context.attributes_as<RunningAttributes>();
  const int64_t count = x.dims()[static_cast<size_t>(axis)], outer = product(x.dims(), 0, axis);
  const int64_t inner = product(x.dims(), axis + 1, x.rank());
  Tensor& out = context.output(0, x.dtype(), x.dims());
  visit_numeric(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = o * count * inner + i;
        run_row(x.as<T>() + at, out.as<T>() + at, count, inner, attributes, multiplies);
      }
  });
}

OpDef running_op(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<RunningAttributes>();
  def.infer = infer_running;
  def.samples = samples;
  return def;
}

}  // namespace wootz
