// SPDX-License-Identifier: Apache-2.0
// Pad: adds elements before and after each axis: a constant, the edge, a reflection or a wrapped copy.
// Negative pads crop.
#include <algorithm>
#include <numeric>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_pad {
namespace {

struct PadAttributes {
  std::string mode = "constant";
  template <class V>
  void reflect(V& v) {
    v("mode", mode);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() >= 11) return;
  ctx.attribute_to_input("paddings", 1);  // opset 1's spelling
  ctx.attribute_to_input("pads", 1);
  const DType dtype = ctx.node().input(0) ? ctx.node().input(0)->type.dtype : DType::kUndefined;
  ctx.scalar_attribute_to_input("value", 2, dtype == DType::kUndefined ? DType::kFloat32 : dtype);
}

bool is_mode(const std::string& mode) {
  return mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap";
}

void infer(InferContext& ctx) {
  const std::string mode = ctx.attributes_as<PadAttributes>().mode;
  ctx.check(is_mode(mode), "expected mode constant, edge, reflect or wrap, found " + mode);
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  const int64_t rank = ctx.rank(0);
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  bool axes_known = true;
  if (ctx.has_input(3)) {
    const auto given = ctx.ints(3);
    axes_known = given.has_value();
    if (given) axes = *given;
  }
  const auto pads = small_contents(ctx, 1);
  Shape shape = ctx.shape(0);
  if (axes_known && pads) {
    ctx.check(pads->size() == 2 * axes.size(),
              "expected " + std::to_string(2 * axes.size()) + " pads, found " + std::to_string(pads->size()));
    for (size_t i = 0; i < axes.size(); ++i) {
      Dim& d = shape[static_cast<size_t>(ctx.normalize_axis(axes[i], rank))];
      d = d + (*pads)[i] + (*pads)[i + axes.size()];
      ctx.check(ctx.symbols().upper_bound(d) >= 0, "expected pads that leave a size >= 0");
    }
  } else if (axes_known) {
    for (int64_t axis : axes)
      shape[static_cast<size_t>(ctx.normalize_axis(axis, rank))] = ctx.unknown("padded");
  } else {
    shape = unknown_shape(ctx, "padded", rank);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

/// For each output position of one axis, the input position, or -1 for the constant.
Ints source_positions(const EvalContext& ctx, const std::string& mode, int64_t dim, int64_t before,
                      int64_t after) {
  const int64_t low = std::max<int64_t>(-before, 0);  // what a crop leaves: [low, low + length)
  const int64_t length = std::max<int64_t>(dim - low - std::max<int64_t>(-after, 0), 0);
  int64_t size = 0;
  ctx.check(
      !__builtin_add_overflow(dim, before, &size) && !__builtin_add_overflow(size, after, &size) && size >= 0,
      "expected pads that leave a size >= 0, found " + std::to_string(before) + " and " +
          std::to_string(after) + " for dimension " + std::to_string(dim));
  checked_count(Dims{size}, "Pad");
  ctx.check(mode == "constant" || length > 0 || size == 0,
            "mode " + mode + " needs at least one element to repeat");
  Ints from(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    int64_t at = i - before;
    if (mode == "constant") {
      from[static_cast<size_t>(i)] = at >= 0 && at < dim ? at : -1;
      continue;
    }
    at -= low;
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, length - 1);
    } else {
      const int64_t period = mode == "wrap" ? length : std::max<int64_t>(2 * (length - 1), 1);
      at = ((at % period) + period) % period;
      if (mode == "reflect" && at >= length) at = period - at;
    }
    from[static_cast<size_t>(i)] = low + at;
  }
  return from;
}

std::vector<Ints> all_positions(const EvalContext& ctx, const std::string& mode) {
  const Tensor& data = ctx.input(0);
  const Ints pads = ctx.input(1).to_int64s();
  Ints axes(data.dims().size());
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.has_input(3)) axes = ctx.input(3).to_int64s();
  ctx.check(pads.size() == 2 * axes.size(),
            "expected " + std::to_string(2 * axes.size()) + " pads, found " + std::to_string(pads.size()));
  std::vector<Ints> positions;
  for (int64_t d : data.dims()) {
    positions.emplace_back(static_cast<size_t>(d));
    std::iota(positions.back().begin(), positions.back().end(), 0);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(ctx.normalize_axis(axes[i], data.rank()));
    positions[axis] = source_positions(ctx, mode, data.dims()[axis], pads[i], pads[i + axes.size()]);
  }
  return positions;
}

/// The padding value in the data's type; zero when left out.
Tensor padding_value(const EvalContext& ctx) {
  const DType dtype = ctx.input(0).dtype();
  Tensor value = Tensor::zeros(dtype, {});
  if (!ctx.has_input(2)) return value;
  const Tensor& given = ctx.input(2);
  ctx.check(given.size() == 1, "expected one constant_value, found " + std::to_string(given.size()));
  ctx.check(given.dtype() == dtype, "expected constant_value of the data's element type " +
                                        std::string(dtype_name(dtype)) + ", found " +
                                        std::string(dtype_name(given.dtype())));
  copy_elements(dtype, given.data(), 0, value.data(), 0, 1);
  return value;
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const std::string mode = ctx.attributes_as<PadAttributes>().mode;
  ctx.check(is_mode(mode), "expected mode constant, edge, reflect or wrap, found " + mode);
  const std::vector<Ints> positions = all_positions(ctx, mode);
  const Tensor value = padding_value(ctx);
  Dims dims;
  for (const Ints& p : positions) dims.push_back(static_cast<int64_t>(p.size()));
  const int64_t count = checked_count(dims, "Pad");
  const Dims strides = contiguous_strides(data.dims());
  Tensor& out = ctx.output(0, data.dtype(), dims);
  if (count == 0) return;
  visit_storage(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Dims at(dims.size(), 0);
    T* to = out.as<T>();
    do {
      int64_t from = 0;
      bool inside = true;
      for (size_t k = 0; k < at.size(); ++k) {
        const int64_t p = positions[k][static_cast<size_t>(at[k])];
        inside = inside && p >= 0;
        from += p * strides[k];
      }
      *to++ = inside ? data.as<T>()[from] : *value.as<T>();
    } while (next_index(dims, at));
  });
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = floats({3, 2}, {1.f, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f}), v = counting(DType::kInt32, {4});
  auto mode = [](const char* name) {
    return std::vector<std::pair<std::string, Attribute>>{{"mode", std::string(name)}};
  };
  return {make("constant", {x, ints({0, 2, 0, 0}), Tensor::scalar_float(9)}),
          make("default value", {v, ints({1, 2})}),
          make("reflect beyond the size", {x, ints({0, 2, 0, 0})}, mode("reflect")),
          make("edge", {x, ints({1, 0, 0, 2})}, mode("edge")),
          make("wrap beyond the size", {v, ints({5, 6})}, mode("wrap")),
          make("crop and pad", {counting(DType::kFloat32, {3, 4}), ints({-1, -1, 0, 2})}),
          make("axes", {x, ints({1, 1}), Datum{}, ints({-1})}),
          make("reflect after a crop", {v, ints({-1, 3})}, mode("reflect")),
          make("scalar", {counting(DType::kFloat64, {}), ints(std::vector<int64_t>{})}),
          make("empty", {counting(DType::kFloat16, {0, 2}), ints({1, 0, 0, 0})}),
          make("strings", {counting(DType::kString, {2}), ints({1, 1}), Tensor::strings({}, {"x"})}),
          make("bool", {counting(DType::kBool, {2}), ints({1, 0}), bools({}, {1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Pad";
  def.doc =
      "Adds elements before and after each axis: a constant, the edge, a reflection or a wrapped copy; "
      "negative pads crop.";
  def.min_inputs = 2;
  def.max_inputs = 4;
  def.attributes = attribute_specs<PadAttributes>();
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_pad
