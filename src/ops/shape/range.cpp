// SPDX-License-Identifier: Apache-2.0
// Range: out[i] = start + i * delta for i < max(ceil((limit - start) / delta), 0).
#include <cmath>

#include "ir/element.h"
#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_range {
namespace {

struct RangeAttributes {
  int64_t stash_type = 1;  // opset 27: the type in which a float range is computed; double here
  template <class V>
  void reflect(V& v) {
    v("stash_type", stash_type);
  }
};

/// ceil((limit - start) / delta) without overflow, at least 0.
int64_t integer_count(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
  const uint64_t count = (distance - 1) / step + 1;
  return count > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(count);
}

template <class Context>
int64_t float_count(const Context& ctx, double start, double limit, double delta) {
  ctx.check(delta != 0, "expected delta other than 0");
  const double count = std::ceil((limit - start) / delta);
  ctx.check(!std::isnan(count) && count < 9e18, "expected a finite number of elements");
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

constexpr const char* kOperands[] = {"start", "limit", "delta"};

/// Floating-point operands that hold whole numbers, such as sizes, count like integers.
std::optional<int64_t> whole_delta(const InferContext& ctx) {
  const auto delta = small_contents(ctx, 2);
  if (!delta || delta->size() != 1 || !delta->front().is_constant()) return std::nullopt;
  return delta->front().value();
}

std::optional<Dim> element_count_of(InferContext& ctx) {
  SymbolTable& symbols = ctx.symbols();
  if (is_float(ctx.dtype(0)) && ctx.constant(0) && ctx.constant(1) && ctx.constant(2)) {
    auto scalar = [&](size_t i) { return only_double(*ctx.constant(i), kOperands[i]); };
    return float_count(ctx, scalar(0), scalar(1), scalar(2));
  }
  const auto start = small_contents(ctx, 0), limit = small_contents(ctx, 1);
  const auto delta = whole_delta(ctx);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1) return std::nullopt;
  ctx.check(*delta != 0, "expected delta other than 0");
  const Dim &a = start->front(), &b = limit->front();
  if (a.is_constant() && b.is_constant()) return integer_count(a.value(), b.value(), *delta);
  const Dim distance = *delta > 0 ? b - a : a - b;
  return symbols.max(symbols.ceil_div(distance, std::abs(*delta)), 0);
}

void infer(InferContext& ctx) {
  ctx.check_same_dtype(0, 1);
  ctx.check_same_dtype(0, 2);
  const auto count = element_count_of(ctx);
  ctx.set_output(0, ctx.dtype(0), {count ? *count : ctx.unknown("range")});
  const auto start = small_contents(ctx, 0);
  const auto delta = scalar_int(ctx, 2);
  if (!count || !count->is_constant() || count->value() > kMaxContents || !start || start->size() != 1 ||
      !delta)
    return;
  std::vector<Dim> contents;
  for (int64_t i = 0; i < count->value(); ++i) contents.push_back(start->front() + Dim(i * *delta));
  keep_contents(ctx, 0, std::move(contents));
}

void evaluate(EvalContext& ctx) {
  const DType dtype = ctx.input(0).dtype();
  for (size_t i = 0; i < 3; ++i)
    ctx.check(ctx.input(i).dtype() == dtype && ctx.input(i).size() == 1,
              "expected three scalars of one element type");
  if (is_integer(dtype)) {
    auto scalar = [&](size_t i) { return ctx.input(i).to_int64s()[0]; };
    const int64_t start = scalar(0), delta = scalar(2);
    ctx.check(delta != 0, "expected delta other than 0");
    Tensor& out = ctx.output(0, dtype, {integer_count(start, scalar(1), delta)});
    visit_numeric(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>)
        for (int64_t i = 0, n = out.size(); i < n; ++i)
          out.as<T>()[i] = static_cast<T>(static_cast<uint64_t>(start) +
                                          static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    });
    return;
  }
  auto scalar = [&](size_t i) { return only_double(ctx.input(i), kOperands[i]); };
  const double start = scalar(0), delta = scalar(2);
  Tensor& out = ctx.output(0, dtype, {float_count(ctx, start, scalar(1), delta)});
  visit_numeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T> && std::is_constructible_v<T, double>)
      for (int64_t i = 0, n = out.size(); i < n; ++i)
        out.as<T>()[i] = T(start + static_cast<double>(i) * delta);
  });
}

std::vector<Sample> samples() {
  using namespace sample;
  auto i = [](int64_t v) { return Tensor::scalar_int64(v); };
  auto f = [](float v) { return Tensor::scalar_float(v); };
  return {make("integers", {i(3), i(9), i(2)}),
          make("backwards", {i(10), i(4), i(-2)}),
          make("none", {i(5), i(5), i(1)}),
          make("wrong way", {i(0), i(5), i(-1)}),
          make("floats", {f(1), f(2), f(0.3f)}),
          make("floats backwards", {f(1), f(-1), f(-0.5f)}),
          make("int32", {int32s({}, {-2}), int32s({}, {3}), int32s({}, {4})}),
          make("near the end", {i(INT64_MAX - 2), i(INT64_MAX), i(5)})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Range";
  def.doc = "out[i] = start + i * delta for i < max(ceil((limit - start) / delta), 0).";
  def.since = 11;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<RangeAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_range
