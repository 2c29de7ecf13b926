// SPDX-License-Identifier: Apache-2.0
// RoiAlign (Mask R-CNN, arXiv:1703.06870): each region is divided into output_height x output_width bins; a
// bin is the mean (or maximum) of bilinear samples at regular points in it.
#include <algorithm>
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_roi_align {
namespace {

struct RoiAlignAttributes {
  std::string coordinate_transformation_mode = "half_pixel", mode = "avg";
  int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  float spatial_scale = 1;
  template <class V>
  void reflect(V& v) {
    v("coordinate_transformation_mode", coordinate_transformation_mode);
    v("mode", mode);
    v("output_height", output_height);
    v("output_width", output_width);
    v("sampling_ratio", sampling_ratio);
    v("spatial_scale", spatial_scale);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() < 16)
    ctx.node().attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
}

template <class Context>
RoiAlignAttributes checked(const Context& ctx) {
  auto a = ctx.template attributes_as<RoiAlignAttributes>();
  ctx.check(a.mode == "avg" || a.mode == "max", "expected mode avg or max, found " + a.mode);
  ctx.check(a.coordinate_transformation_mode == "half_pixel" ||
                a.coordinate_transformation_mode == "output_half_pixel",
            "expected coordinate_transformation_mode half_pixel or output_half_pixel");
  ctx.check(a.output_height > 0 && a.output_width > 0 && a.sampling_ratio >= 0,
            "expected output_height and output_width > 0 and sampling_ratio >= 0");
  return a;
}

void infer(InferContext& ctx) {
  const auto a = checked(ctx);
  ctx.check_rank(0, 4);
  ctx.check_rank(1, 2);
  ctx.check_rank(2, 1);
  Dim rois = ctx.has_rank(1) ? ctx.shape(1)[0] : ctx.has_rank(2) ? ctx.shape(2)[0] : ctx.unknown("rois");
  if (ctx.has_rank(1) && ctx.has_rank(2)) ctx.equate(ctx.shape(1)[0], ctx.shape(2)[0], "number of regions");
  ctx.set_output(
      0, ctx.dtype(0),
      {rois, ctx.has_rank(0) ? ctx.shape(0)[1] : ctx.unknown("channels"), a.output_height, a.output_width});
}

/// The four neighbours of a point and their weights; none where the point lies outside.
struct Corners {
  int count = 0;
  int64_t index[4];
  double weight[4];
};

Corners corners(double y, double x, int64_t height, int64_t width) {
  Corners c;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return c;
  auto neighbours = [](double v, int64_t size, int64_t& low, int64_t& high) {
    v = std::max(v, 0.0);
    low = std::min(static_cast<int64_t>(v), size - 1);
    high = std::min(low + 1, size - 1);
    return low == high ? 0.0 : v - static_cast<double>(low);
  };
  int64_t y0, y1, x0, x1;
  const double fy = neighbours(y, height, y0, y1), fx = neighbours(x, width, x0, x1);
  c = {4,
       {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1},
       {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}};
  return c;
}

struct Region {
  double x, y, bin_width, bin_height;
  int64_t points_x, points_y;
};

Region region_of(const EvalContext& ctx, const double* roi, const RoiAlignAttributes& a) {
  const bool half_pixel = a.coordinate_transformation_mode == "half_pixel";
  const double scale = a.spatial_scale, shift = half_pixel ? 0.5 : 0;
  Region r{roi[0] * scale - shift, roi[1] * scale - shift, 0, 0, 0, 0};
  double width = roi[2] * scale - shift - r.x, height = roi[3] * scale - shift - r.y;
  if (!half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  r.bin_width = width / static_cast<double>(a.output_width);
  r.bin_height = height / static_cast<double>(a.output_height);
  ctx.check(std::abs(r.bin_width) < 1e6 && std::abs(r.bin_height) < 1e6,
            "expected regions of a sensible size");
  r.points_x = a.sampling_ratio > 0 ? a.sampling_ratio : static_cast<int64_t>(std::ceil(r.bin_width));
  r.points_y = a.sampling_ratio > 0 ? a.sampling_ratio : static_cast<int64_t>(std::ceil(r.bin_height));
  return r;
}

/// The samples of one bin.
std::vector<Corners> bin_samples(const Region& r, int64_t row, int64_t column, int64_t height,
                                 int64_t width) {
  std::vector<Corners> samples;
  for (int64_t j = 0; j < r.points_y; ++j)
    for (int64_t i = 0; i < r.points_x; ++i) {
      const double y = r.y + (static_cast<double>(row) +
                              (static_cast<double>(j) + 0.5) / static_cast<double>(r.points_y)) *
                                 r.bin_height;
      const double x = r.x + (static_cast<double>(column) +
                              (static_cast<double>(i) + 0.5) / static_cast<double>(r.points_x)) *
                                 r.bin_width;
      samples.push_back(corners(y, x, height, width));
    }
  return samples;
}

/// The maximum is over the weighted corners, as the specification's tests have it.
double pooled(const double* plane, const std::vector<Corners>& samples, bool takes_max) {
  double sum = 0;
  bool any = false;
  for (const Corners& c : samples) {
    for (int k = 0; k < c.count; ++k) {
      const double v = c.weight[k] * plane[c.index[k]];
      if (!takes_max)
        sum += v;
      else
        sum = any ? std::max(sum, v) : v;
      any = true;
    }
    if (takes_max && c.count == 0) {
      sum = any ? std::max(sum, 0.0) : 0.0;
      any = true;
    }
  }
  return takes_max || samples.empty() ? sum : sum / static_cast<double>(samples.size());
}

void evaluate(EvalContext& ctx) {
  const auto a = checked(ctx);
  const Tensor &x = ctx.input(0), &rois = ctx.input(1);
  ctx.check(x.rank() == 4 && rois.rank() == 2 && rois.dims()[1] == 4,
            "expected X [n, c, h, w] and rois [r, 4]");
  const int64_t batch = x.dims()[0], channels = x.dims()[1], height = x.dims()[2], width = x.dims()[3],
                count = rois.dims()[0];
  const Ints images = ctx.input(2).to_int64s();
  ctx.check(static_cast<int64_t>(images.size()) == count,
            "expected one batch index for each of the " + std::to_string(count) + " regions");
  const std::vector<double> data = x.to_doubles(), boxes = rois.to_doubles();
  Tensor& out = ctx.output(0, x.dtype(), {count, channels, a.output_height, a.output_width});
  const int64_t bins = a.output_height * a.output_width;
  std::vector<double> value(1);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t image = images[static_cast<size_t>(n)];
    ctx.check(image >= 0 && image < batch,
              "expected batch indices in [0, " + std::to_string(batch) + "), found " + std::to_string(image));
    ctx.check(height > 0 && width > 0, "expected an input that has elements");
    const Region region = region_of(ctx, boxes.data() + n * 4, a);
    for (int64_t bin = 0; bin < bins; ++bin) {
      const auto points = bin_samples(region, bin / a.output_width, bin % a.output_width, height, width);
      for (int64_t c = 0; c < channels; ++c) {
        value[0] = pooled(data.data() + (image * channels + c) * height * width, points, a.mode == "max");
        store_reals(out, (n * channels + c) * bins + bin, value);
      }
    }
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 2, 5, 6});
  const Tensor rois = floats({2, 4}, {0, 0, 4, 4, 1.5f, 2, 5, 3}), images = ints({1, 0});
  const std::pair<std::string, Attribute> height{"output_height", int64_t{2}},
      width{"output_width", int64_t{3}};
  return {make("adaptive", {x, rois, images}, {height, width}),
          make("two by two samples", {x, rois, images}, {height, width, {"sampling_ratio", int64_t{2}}}),
          make("max", {x, rois, images}, {height, width, {"mode", std::string("max")}}),
          make("output_half_pixel", {x, rois, images},
               {height, width, {"coordinate_transformation_mode", std::string("output_half_pixel")}}),
          make("outside", {x, floats({1, 4}, {-20, -20, 30, 30}), ints({0})}, {height, width}),
          make("scaled", {x, rois, images}, {{"spatial_scale", 0.5f}}),
          make("no regions", {x, Tensor::zeros(DType::kFloat32, {0, 4}), Tensor::zeros(DType::kInt64, {0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "RoiAlign";
  def.doc =
      "Each region is divided into bins; a bin is the mean (or maximum) of bilinear samples at regular "
      "points in it.";
  def.since = 10;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<RoiAlignAttributes>();
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_roi_align
