// SPDX-License-Identifier: Apache-2.0
// GridSample: the input sampled at the grid's normalised coordinates (the last spatial axis first) by
// nearest, linear or cubic (a = -0.75) interpolation. Outside, each tap is zero, clamped or reflected.
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_grid_sample {
namespace {

struct GridSampleAttributes {
  int64_t align_corners = 0;
  std::string mode = "linear", padding_mode = "zeros";
  template <class V>
  void reflect(V& v) {
    v("align_corners", align_corners);
    v("mode", mode);
    v("padding_mode", padding_mode);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() >= 20) return;
  const std::string mode = ctx.node().attributes.get<std::string>("mode", "bilinear");
  ctx.node().attributes.set("mode", mode == "bilinear"  ? std::string("linear")
                                    : mode == "bicubic" ? std::string("cubic")
                                                        : mode);
}

template <class Context>
GridSampleAttributes checked(const Context& ctx) {
  auto a = ctx.template attributes_as<GridSampleAttributes>();
  ctx.check(a.mode == "linear" || a.mode == "nearest" || a.mode == "cubic",
            "expected mode linear, nearest or cubic, found " + a.mode);
  ctx.check(a.padding_mode == "zeros" || a.padding_mode == "border" || a.padding_mode == "reflection",
            "expected padding_mode zeros, border or reflection, found " + a.padding_mode);
  return a;
}

void infer(InferContext& ctx) {
  checked(ctx);
  ctx.set_output(0, ctx.dtype(0));
  if (ctx.has_rank(0) && ctx.rank(0) < 3)
    ctx.fail("expected an input of rank >= 3, found " + std::to_string(ctx.rank(0)));
  if (ctx.has_rank(0)) ctx.check_rank(1, ctx.rank(0));
  if (!ctx.has_rank(0) || !ctx.has_rank(1)) return;
  const Shape &x = ctx.shape(0), &grid = ctx.shape(1);
  ctx.equate(grid.back(), ctx.rank(0) - 2, "coordinates of the grid");
  ctx.equate(grid[0], x[0], "batch of input and grid");
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

/// Up to four elements along one axis and their weights; index -1 is zero padding.
struct Taps {
  int count = 0;
  int64_t index[4];
  double weight[4];
};

int64_t padded_index(int64_t i, int64_t size, const GridSampleAttributes& a) {
  if (i >= 0 && i < size) return i;
  if (a.padding_mode == "zeros") return -1;
  if (a.padding_mode == "border") return i < 0 ? 0 : size - 1;
  if (size == 1) return 0;
  const int64_t period = a.align_corners ? 2 * (size - 1) : 2 * size;
  i = ((i % period) + period) % period;
  if (i < size) return i;
  return a.align_corners ? period - i : period - 1 - i;
}

double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double t = std::abs(distance);
  if (t <= 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
  return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA;
}

/// `coordinate` in [-1, 1] over an axis of `size` elements. In float, as the usual implementations have it,
/// so that ties of nearest fall the same way.
Taps taps_of(double coordinate, int64_t size, const GridSampleAttributes& a) {
  constexpr double kFar = 1e12;  // beyond any tensor, and exact in double
  const auto n = static_cast<float>(coordinate), length = static_cast<float>(size);
  double x = a.align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
  if (!(x > -kFar)) x = -kFar;
  if (x > kFar) x = kFar;
  Taps taps;
  auto add = [&](double at, double weight) {
    taps.index[taps.count] = padded_index(static_cast<int64_t>(at), size, a);
    taps.weight[taps.count++] = weight;
  };
  const double base = std::floor(x), fraction = x - base;
  if (a.mode == "nearest") {
    add(std::nearbyint(x), 1);
  } else if (a.mode == "linear") {
    add(base, 1 - fraction);
    add(base + 1, fraction);
  } else {
    for (int i = -1; i <= 2; ++i) add(base + i, cubic_weight(fraction - i));
  }
  return taps;
}

/// The weighted sum of the taps of every axis from `axis` on.
double interpolate(const double* data, std::span<const Taps> taps, std::span<const int64_t> strides) {
  if (taps.empty()) return *data;
  double sum = 0;
  for (int i = 0; i < taps[0].count; ++i)
    if (taps[0].index[i] >= 0)
      sum += taps[0].weight[i] *
             interpolate(data + taps[0].index[i] * strides[0], taps.subspan(1), strides.subspan(1));
  return sum;
}

void evaluate(EvalContext& ctx) {
  const Tensor &x = ctx.input(0), &grid = ctx.input(1);
  const auto a = checked(ctx);
  const int64_t axes = x.rank() - 2;
  ctx.check(
      axes >= 1 && grid.rank() == x.rank() && grid.dims().back() == axes && grid.dims()[0] == x.dims()[0],
      "expected an input [n, c, spatial...] and a grid [n, spatial..., " + std::to_string(axes) + "]");
  const int64_t batch = x.dims()[0], channels = x.dims()[1];
  const Dims spatial(x.dims().begin() + 2, x.dims().end());
  const Dims strides = contiguous_strides(spatial);
  Dims dims{batch, channels};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  Tensor& out = ctx.output(0, x.dtype(), dims);
  const int64_t points = product(dims, 2, static_cast<int64_t>(dims.size())),
                plane = product(spatial, 0, axes);
  if (out.size() == 0) return;
  ctx.check(plane > 0, "expected an input that has elements");
  const std::vector<double> data = x.to_doubles(), at = grid.to_doubles();
  std::vector<Taps> taps(static_cast<size_t>(axes));
  std::vector<double> value(1);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t p = 0; p < points; ++p) {
      const double* coordinates = at.data() + (n * points + p) * axes;
      for (int64_t k = 0; k < axes; ++k)
        taps[static_cast<size_t>(k)] = taps_of(coordinates[axes - 1 - k], spatial[static_cast<size_t>(k)], a);
      for (int64_t c = 0; c < channels; ++c) {
        value[0] = interpolate(data.data() + (n * channels + c) * plane, taps, strides);
        store_reals(out, (n * channels + c) * points + p, value);
      }
    }
}

double flops(const Node& node, std::span<const Dims>, std::span<const Dims> outputs) {
  const std::string mode = node.attributes.get<std::string>("mode", "linear");
  const double axes = static_cast<double>(outputs[0].size()) - 2;
  return 2 *
         std::pow(mode == "nearest"  ? 1
                  : mode == "linear" ? 2
                                     : 4,
                  axes) *
         static_cast<double>(element_count(outputs[0]));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {1, 2, 3, 4});
  const Tensor grid = floats({1, 2, 3, 2}, {-1, -1, 0, 0, 1, 1, -0.6f, 0.3f, 1.2f, -0.1f, -1.4f, 2.5f});
  auto with = [](const char* mode, const char* padding, int64_t align) {
    return std::vector<std::pair<std::string, Attribute>>{
        {"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", align}};
  };
  return {make("default", {x, grid}),
          make("aligned border", {x, grid}, with("linear", "border", 1)),
          make("nearest reflection", {x, grid}, with("nearest", "reflection", 0)),
          make("cubic border", {x, grid}, with("cubic", "border", 0)),
          make("cubic aligned reflection", {x, grid}, with("cubic", "reflection", 1)),
          make("huge and not finite", {x, floats({1, 1, 3, 2}, {1e30f, -1e30f, INFINITY, -INFINITY, NAN, 0})},
               with("linear", "reflection", 0)),
          make("volume",
               {counting(DType::kFloat32, {1, 1, 2, 2, 2}), floats({1, 1, 1, 2, 3}, {0, 0, 0, 1, -1, 0.5f})}),
          make("line", {counting(DType::kFloat32, {1, 1, 4}), floats({1, 2, 1}, {0.25f, -0.5f})}),
          make("no points", {x, Tensor::zeros(DType::kFloat32, {1, 0, 3, 2})}),
          make("half", {counting(DType::kFloat16, {1, 1, 2, 2}), floats({1, 1, 1, 2}, {0.2f, 0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "GridSample";
  def.doc =
      "The input sampled at the grid's normalised coordinates by nearest, linear or cubic interpolation.";
  def.since = 16;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<GridSampleAttributes>();
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.flops = flops;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_grid_sample
