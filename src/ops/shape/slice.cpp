// SPDX-License-Identifier: Apache-2.0
// Slice: elements start, start + step, ... before end along each of the axes. Bounds are clamped, negative
// ones count from the end.
#include <algorithm>
#include <numeric>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_slice {
namespace {

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() >= 10) return;
  ctx.attribute_to_input("starts", 1);
  ctx.attribute_to_input("ends", 2);
  ctx.attribute_to_input("axes", 3);
}

/// Bounds at or beyond these mean "to the very end" in every exporter; no dimension is that long.
constexpr int64_t kFarEnd = INT32_MAX, kFarStart = INT32_MIN, kFarthest = int64_t{1} << 40;

bool is_far_end(const Dim& bound) { return bound.is_constant() && bound.value() >= kFarEnd; }
bool is_far_start(const Dim& bound) { return bound.is_constant() && bound.value() <= kFarStart; }

/// One axis of a concrete slice: where it begins and how many elements it takes.
std::pair<int64_t, int64_t> concrete_slice(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    return {start, start < end ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<int64_t>(start, 0, std::max<int64_t>(dim - 1, 0));
  end = std::clamp<int64_t>(end, -1, dim - 1);
  return {start, dim > 0 && start > end ? (start - end - 1) / -step + 1 : 0};
}

/// Where a forward slice starts and ends, as far as their difference needs clamping (it is taken to be at
/// least 0); nothing where the sign of a bound is not known.
std::optional<Dim> forward_distance(SymbolTable& symbols, const Dim& dim, const Dim& start, const Dim& end) {
  Dim first = 0, last = dim;
  if (symbols.lower_bound(start) >= 0)
    first = is_far_end(start) ? dim : start;
  else if (symbols.upper_bound(start) >= 0)
    return std::nullopt;
  else if (is_far_end(end))
    return symbols.min(start * -1, dim);
  else if (!is_far_start(start))
    first = symbols.max(start + dim, 0);
  if (is_far_end(end))
    last = dim;
  else if (symbols.lower_bound(end) >= 0)
    last = symbols.min(end, dim);
  else if (symbols.upper_bound(end) >= 0)
    return std::nullopt;
  else
    last = is_far_start(end) ? Dim(0) : end + dim;
  return last - first;
}

std::optional<Dim> backward_distance(SymbolTable& symbols, const Dim& dim, const Dim& start, const Dim& end) {
  const Dim end_of_dim = dim - Dim(1);
  Dim first = end_of_dim, last = -1;
  if (symbols.lower_bound(start) >= 0)
    first = is_far_end(start) ? end_of_dim : symbols.min(start, end_of_dim);
  else if (symbols.upper_bound(start) >= 0)
    return std::nullopt;
  else if (!start.is(-1))
    first = symbols.min(is_far_start(start) ? Dim(0) : symbols.max(start + dim, 0), end_of_dim);
  if (symbols.lower_bound(end) >= 0)
    last = is_far_end(end) ? end_of_dim : end;
  else if (symbols.upper_bound(end) >= 0)
    return std::nullopt;
  else if (!is_far_start(end))
    last = symbols.max(end + dim, -1);
  return first - last;
}

std::optional<Dim> slice_length(SymbolTable& symbols, const Dim& dim, const Dim& start, const Dim& end,
                                int64_t step) {
  if (dim.is_constant() && start.is_constant() && end.is_constant())
    return Dim(concrete_slice(dim.value(), start.value(), end.value(), step).second);
  const auto distance =
      step > 0 ? forward_distance(symbols, dim, start, end) : backward_distance(symbols, dim, start, end);
  if (!distance) return std::nullopt;
  const Dim elements = symbols.max(*distance, 0);
  if (step > kFarEnd || step < kFarStart) return symbols.min(elements, 1);
  return symbols.ceil_div(elements, std::abs(step));
}

struct SliceOperands {
  std::vector<Dim> starts, ends;
  Ints axes, steps;
};

std::optional<SliceOperands> known_operands(InferContext& ctx) {
  const auto starts = small_contents(ctx, 1), ends = small_contents(ctx, 2);
  const auto axes = ctx.has_input(3) ? ctx.ints(3) : std::nullopt;
  const auto steps = ctx.has_input(4) ? ctx.ints(4) : std::nullopt;
  if (!starts || !ends || (ctx.has_input(3) && !axes) || (ctx.has_input(4) && !steps)) return std::nullopt;
  SliceOperands s{*starts, *ends, {}, steps ? *steps : Ints(starts->size(), 1)};
  s.axes.resize(starts->size());
  std::iota(s.axes.begin(), s.axes.end(), 0);
  if (axes) s.axes = *axes;
  ctx.check(s.ends.size() == s.starts.size() && s.axes.size() == s.starts.size() &&
                s.steps.size() == s.starts.size(),
            "expected starts, ends, axes and steps of equal length");
  for (std::vector<Dim>* bounds : {&s.starts, &s.ends})  // so that sums with dimensions cannot overflow
    for (Dim& bound : *bounds)
      if (bound.is_constant()) bound = std::clamp<int64_t>(bound.value(), -kFarthest, kFarthest);
  for (int64_t& step : s.steps) {
    ctx.check(step != 0, "expected steps other than 0");
    step = std::max<int64_t>(step, -INT64_MAX);
  }
  return s;
}

/// Sliced axes are unknown, the others stay.
Shape partly_known(InferContext& ctx) {
  Shape shape = ctx.shape(0);
  std::vector<bool> sliced(shape.size(), true);
  if (const auto axes = ctx.has_input(3) ? ctx.ints(3) : std::nullopt) {
    sliced.assign(shape.size(), false);
    for (int64_t axis : *axes) sliced[static_cast<size_t>(ctx.normalize_axis(axis, ctx.rank(0)))] = true;
  } else if (const auto count = static_length(ctx, 1); count && !ctx.has_input(3)) {
    for (size_t i = static_cast<size_t>(*count); i < shape.size(); ++i) sliced[i] = false;
  }
  for (size_t i = 0; i < shape.size(); ++i)
    if (sliced[i]) shape[i] = ctx.unknown("sliced", known_upper(ctx.symbols(), shape[i]));
  return shape;
}

void slice_contents(InferContext& ctx, const SliceOperands& operands) {
  auto from = small_contents(ctx, 0);
  if (!from) return;
  if (operands.axes.empty()) return keep_contents(ctx, 0, std::move(from));
  if (!operands.starts[0].is_constant() || !operands.ends[0].is_constant()) return;
  const auto [first, length] = concrete_slice(static_cast<int64_t>(from->size()), operands.starts[0].value(),
                                              operands.ends[0].value(), operands.steps[0]);
  std::vector<Dim> out;
  for (int64_t i = 0; i < length; ++i)
    out.push_back((*from)[static_cast<size_t>(first + i * operands.steps[0])]);
  keep_contents(ctx, 0, std::move(out));
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  const auto operands = known_operands(ctx);
  if (!operands) return ctx.set_output(0, ctx.dtype(0), partly_known(ctx));
  Shape shape = ctx.shape(0);
  for (size_t i = 0; i < operands->axes.size(); ++i) {
    const auto axis = static_cast<size_t>(ctx.normalize_axis(operands->axes[i], ctx.rank(0)));
    const Dim dim = ctx.symbols().resolve(shape[axis]);
    const auto length =
        slice_length(ctx.symbols(), dim, operands->starts[i], operands->ends[i], operands->steps[i]);
    shape[axis] = length ? *length : ctx.unknown("sliced", known_upper(ctx.symbols(), dim));
  }
  const bool is_vector = shape.size() == 1 && operands->axes.size() < 2;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (is_vector) slice_contents(ctx, *operands);
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Ints starts = ctx.input(1).to_int64s(), ends = ctx.input(2).to_int64s();
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.has_input(3)) axes = ctx.input(3).to_int64s();
  const Ints steps = ctx.has_input(4) ? ctx.input(4).to_int64s() : Ints(starts.size(), 1);
  ctx.check(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
            "expected starts, ends, axes and steps of equal length");
  Dims dims = data.dims();
  StridedSide from{0, contiguous_strides(dims)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(ctx.normalize_axis(axes[i], data.rank()));
    ctx.check(steps[i] != 0, "expected steps other than 0");
    const int64_t step = std::max<int64_t>(steps[i], -INT64_MAX);
    const auto [first, length] = concrete_slice(dims[axis], starts[i], ends[i], step);
    from.offset += first * from.strides[axis];
    dims[axis] = length;
    from.strides[axis] = length > 1 ? from.strides[axis] * step : 0;
  }
  Tensor& out = ctx.output(0, data.dtype(), dims);
  copy_strided(data.dtype(), dims, data.data(), from, out.data(), {0, contiguous_strides(dims)});
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {4, 6}), v = counting(DType::kInt64, {5});
  return {
      make("default axes", {x, ints({1, 0}), ints({3, 6})}),
      make("steps", {x, ints({0, 1}), ints({4, 6}), ints({0, 1}), ints({2, 3})}),
      make("backwards to the front", {v, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-1})}),
      make("backwards step 2", {v, ints({10}), ints({-5}), ints({0}), ints({-2})}),
      make("clamped", {v, ints({-100}), ints({INT64_MAX})}),
      make("to empty", {v, ints({4}), ints({2})}),
      make("negative axis, int32 operands",
           {x, int32s({1}, {1}), int32s({1}, {-1}), int32s({1}, {-1}), int32s({1}, {1})}),
      make("huge step", {v, ints({1}), ints({5}), ints({0}), ints({INT64_MAX})}),
      make("empty input", {counting(DType::kFloat16, {0, 3}), ints({0}), ints({5}), ints({0}), ints({-1})}),
      make("an axis twice", {v, ints({-1, 1}), ints({INT64_MIN, 4}), ints({0, 0}), ints({-1, 2})}),
      make("strings", {counting(DType::kString, {3}), ints({1}), ints({3})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Slice";
  def.doc =
      "Elements start, start + step, ... before end along each of the axes; bounds are clamped, negative "
      "ones count from the end.";
  def.min_inputs = 3;
  def.max_inputs = 5;
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_slice
