// SPDX-License-Identifier: Apache-2.0
// MaxRoiPool: each region [batch, x1, y1, x2, y2], rounded to pixels, is divided into bins; a bin is its
// maximum, 0 where empty.
#include <algorithm>
#include <cmath>

#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_max_roi_pool {
namespace {

struct MaxRoiPoolAttributes {
  Ints pooled_shape;
  float spatial_scale = 1;
  template <class V>
  void reflect(V& v) {
    v("pooled_shape", pooled_shape);
    v("spatial_scale", spatial_scale);
  }
};

template <class Context>
MaxRoiPoolAttributes checked(const Context& ctx) {
  auto a = ctx.template attributes_as<MaxRoiPoolAttributes>();
  ctx.check(a.pooled_shape.size() == 2 && a.pooled_shape[0] > 0 && a.pooled_shape[1] > 0,
            "expected pooled_shape [height, width]");
  return a;
}

void infer(InferContext& ctx) {
  const auto a = checked(ctx);
  ctx.check_rank(0, 4);
  ctx.check_rank(1, 2);
  ctx.set_output(
      0, ctx.dtype(0),
      {ctx.has_rank(1) ? ctx.shape(1)[0] : ctx.unknown("rois"),
       ctx.has_rank(0) ? ctx.shape(0)[1] : ctx.unknown("channels"), a.pooled_shape[0], a.pooled_shape[1]});
}

/// First and last pixel of bin `i` of `bins` along one axis.
std::pair<int64_t, int64_t> bin_range(double start, double end, int64_t i, int64_t bins, int64_t size) {
  const double length = std::max(end - start + 1, 1.0) / static_cast<double>(bins),
               limit = static_cast<double>(size);
  const double low = start + std::floor(static_cast<double>(i) * length),
               high = start + std::ceil(static_cast<double>(i + 1) * length);
  return {saturated_int64(std::clamp(low, 0.0, limit)), saturated_int64(std::clamp(high, 0.0, limit))};
}

void evaluate(EvalContext& ctx) {
  const auto a = checked(ctx);
  const Tensor &x = ctx.input(0), &rois = ctx.input(1);
  ctx.check(x.rank() == 4 && rois.rank() == 2 && rois.dims()[1] == 5,
            "expected X [n, c, h, w] and rois [r, 5]");
  const int64_t batch = x.dims()[0], channels = x.dims()[1], height = x.dims()[2], width = x.dims()[3],
                count = rois.dims()[0];
  const int64_t rows = a.pooled_shape[0], columns = a.pooled_shape[1];
  const std::vector<double> data = x.to_doubles(), boxes = rois.to_doubles();
  Tensor& out = ctx.output(0, x.dtype(), {count, channels, rows, columns});
  std::vector<double> value(1);
  for (int64_t n = 0; n < count; ++n) {
    const double* roi = boxes.data() + n * 5;
    ctx.check(roi[0] >= 0 && roi[0] < static_cast<double>(batch),
              "expected batch indices in [0, " + std::to_string(batch) + ")");
    double edge[4];
    for (int k = 0; k < 4; ++k) edge[k] = std::round(roi[k + 1] * static_cast<double>(a.spatial_scale));
    for (int64_t bin = 0; bin < rows * columns; ++bin) {
      const auto [y0, y1] = bin_range(edge[1], edge[3], bin / columns, rows, height);
      const auto [x0, x1] = bin_range(edge[0], edge[2], bin % columns, columns, width);
      for (int64_t c = 0; c < channels; ++c) {
        const double* plane = data.data() + (static_cast<int64_t>(roi[0]) * channels + c) * height * width;
        value[0] = y0 < y1 && x0 < x1 ? -INFINITY : 0;
        for (int64_t i = y0; i < y1; ++i)
          for (int64_t j = x0; j < x1; ++j) value[0] = std::max(value[0], plane[i * width + j]);
        store_reals(out, (n * channels + c) * rows * columns + bin, value);
      }
    }
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 2, 5, 6});
  const std::pair<std::string, Attribute> shape{"pooled_shape", Ints{2, 2}};
  return {make("inside", {x, floats({2, 5}, {0, 0, 0, 3, 3, 1, 1, 2, 5, 4})}, {shape}),
          make("outside", {x, floats({1, 5}, {1, -4, -4, 20, 20})}, {shape}),
          make("empty bins", {x, floats({1, 5}, {0, 10, 10, 12, 12})}, {shape}),
          make("scaled", {x, floats({1, 5}, {0, 0, 0, 9, 9})}, {shape, {"spatial_scale", 0.5f}}),
          make("no regions", {x, Tensor::zeros(DType::kFloat32, {0, 5})}, {shape})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "MaxRoiPool";
  def.doc = "Each region, rounded to pixels, is divided into bins; a bin is its maximum, 0 where empty.";
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<MaxRoiPoolAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_max_roi_pool
