// SPDX-License-Identifier: Apache-2.0
// Resize of spatial axes: for each output line the weighted input lines are added, then pixels along the
// line. Channels-last pixels are vectors of channels, row-major ones single numbers.
#include <cstring>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "ops/nn/resize.h"

namespace wootz::cpu_resize_tactic {
namespace {

constexpr size_t kAxes = 3;

/// Taps of one axis as floats; a missing axis has one output that reads its only input.
struct AxisTaps {
  int64_t input = 1, output = 1, taps = 1;
  std::vector<int64_t> index = {0};
  std::vector<float> weight = {1.0f};
  std::vector<char> outside = {0};
  int64_t from = 0, to = 0;  // element strides
  bool copies() const {
    for (float w : weight)
      if (w != 1.0f) return false;
    return taps == 1;
  }
};

AxisTaps taps_of(const ResizeAttributes& attributes, const ResizeAxis& axis, int64_t from, int64_t to) {
  AxisTaps result;
  result.input = axis.input, result.output = axis.output, result.from = from, result.to = to;
  ResizeTaps taps = resize_taps(attributes, axis);
  if (taps.is_identity) {
    taps = {1, {}, {}, {}, true};
    for (int64_t o = 0; o < axis.output; ++o) taps.index.push_back(o), taps.weight.push_back(1);
  }
  result.taps = taps.taps;
  result.index = taps.index;
  result.weight.assign(taps.weight.begin(), taps.weight.end());
  result.outside.assign(static_cast<size_t>(axis.output), 0);
  for (size_t o = 0; o < taps.outside.size(); ++o) result.outside[o] = taps.outside[o];
  for (int64_t& i : result.index) i = std::clamp<int64_t>(i, 0, axis.input - 1);
  return result;
}

std::vector<double> numbers(const NodeView& view, size_t i) {
  return view.has_input(i) && view.input(i).constant ? view.input(i).constant->to_doubles()
                                                     : std::vector<double>();
}

std::vector<ResizeAxis> axes_of(const NodeView& view, const ResizeAttributes& a) {
  const std::vector<double> roi = numbers(view, 1), scales = numbers(view, 2), sizes = numbers(view, 3);
  const std::vector<float> float_scales(scales.begin(), scales.end());
  const std::vector<int64_t> int_sizes(sizes.begin(), sizes.end());
  return resize_axes(a, view.input(0).dims, float_scales, int_sizes, roi);
}

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const NodeView& view, int threads) : source_(view.source(0)), threads_(threads) {
    const auto a = read_attributes<ResizeAttributes>(view.node().attributes);
    extrapolation_ = a.extrapolation_value;
    const TensorDesc &x = view.input(0), &y = *view.output(0);
    const Dims strides = strides_of(x);
    const std::vector<ResizeAxis> axes = axes_of(view, a);
    const size_t rank = axes.size();
    for (size_t d = 2; d < rank; ++d) axes_[kAxes - rank + d] = taps_of(a, axes[d], strides[d], y.strides[d]);
    batch_ = x.dims[0], channels_ = x.dims[1];
    from_batch_ = strides[0], to_batch_ = y.strides[0], from_channel_ = strides[1],
    to_channel_ = y.strides[1];
    vectors_ = from_channel_ == 1 && to_channel_ == 1 && channels_ > 1;
    width_ = vectors_ ? channels_ : 1;
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * line_floats()) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const float* x = source_.as<float>(args);
    float* y = static_cast<float*>(args.outputs[0]);
    const int64_t lines = axes_[0].output * axes_[1].output;
    const int64_t planes = vectors_ ? batch_ : batch_ * channels_;
    const double line_taps = static_cast<double>(axes_[0].taps * axes_[1].taps * axes_[2].input +
                                                 axes_[2].taps * axes_[2].output * 2);
    const double seconds =
        static_cast<double>(planes * lines * width_) * line_taps * (vectors_ ? 0.2e-9 : 0.5e-9);
    parallel_ranges(pool_of(args), planes * lines, 1, seconds, [&](int64_t begin, int64_t end, int part) {
      float* scratch = static_cast<float*>(args.workspace) + part * line_floats();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / lines;
        const int64_t n = vectors_ ? plane : plane / channels_, c = vectors_ ? 0 : plane % channels_;
        line(x + n * from_batch_ + c * from_channel_, y + n * to_batch_ + c * to_channel_, i % lines,
             scratch);
      }
    });
  }

 private:
  int64_t line_floats() const { return (axes_[2].input * width_ + 15) / 16 * 16; }

  void line(const float* from, float* to, int64_t line, float* scratch) const {
    const AxisTaps &depth = axes_[0], &height = axes_[1], &width = axes_[2];
    const int64_t z = line / height.output, y = line % height.output;
    float* out = to + z * depth.to + y * height.to;
    if (depth.outside[static_cast<size_t>(z)] || height.outside[static_cast<size_t>(y)]) {
      for (int64_t x = 0; x < width.output; ++x)
        std::fill(out + x * width.to, out + x * width.to + width_, extrapolation_);
      return;
    }
    if (depth.copies() && height.copies())
      return pixels(from + depth.index[static_cast<size_t>(z)] * depth.from +
                        height.index[static_cast<size_t>(y)] * height.from,
                    width.from, out);
    const int64_t count = width.input * width_;
    std::fill(scratch, scratch + count, 0.0f);
    for (int64_t tz = 0; tz < depth.taps; ++tz)
      for (int64_t ty = 0; ty < height.taps; ++ty) {
        const auto iz = static_cast<size_t>(z * depth.taps + tz),
                   iy = static_cast<size_t>(y * height.taps + ty);
        const float weight = depth.weight[iz] * height.weight[iy];
        if (weight == 0) continue;
        const float* p = from + depth.index[iz] * depth.from + height.index[iy] * height.from;
        if (width.from == width_) {
          row_kernels().add_scaled(p, count, weight, scratch);
        } else {
          for (int64_t x = 0; x < width.input; ++x)
            row_kernels().add_scaled(p + x * width.from, width_, weight, scratch + x * width_);
        }
      }
    pixels(scratch, width_, out);
  }

  /// One output line from one input line whose pixels are `stride` apart.
  void pixels(const float* in, int64_t stride, float* out) const {
    const AxisTaps& w = axes_[2];
    const bool copies = w.copies();
    for (int64_t x = 0; x < w.output; ++x) {
      float* y = out + x * w.to;
      const int64_t* index = w.index.data() + x * w.taps;
      const float* weight = w.weight.data() + x * w.taps;
      if (w.outside[static_cast<size_t>(x)]) {
        std::fill(y, y + width_, extrapolation_);
      } else if (!vectors_) {
        float sum = weight[0] * in[index[0] * stride];
        for (int64_t t = 1; t < w.taps; ++t) sum += weight[t] * in[index[t] * stride];
        *y = copies ? in[index[0] * stride] : sum;
      } else if (copies) {
        std::memcpy(y, in + index[0] * stride, static_cast<size_t>(width_) * sizeof(float));
      } else {
        row_kernels().affine(in + index[0] * stride, width_, 0.0f, weight[0], 0.0f, y);
        for (int64_t t = 1; t < w.taps; ++t)
          row_kernels().add_scaled(in + index[t] * stride, width_, weight[t], y);
      }
    }
  }

  OperandSource source_;
  int threads_;
  float extrapolation_ = 0;
  bool vectors_ = false;
  int64_t width_ = 1;  // floats of a pixel
  int64_t batch_ = 0, channels_ = 0, from_batch_ = 0, to_batch_ = 0, from_channel_ = 0, to_channel_ = 0;
  AxisTaps axes_[kAxes];
};

class Resize final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.resize.lines"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"Resize"});
    if (!view) return "not one Resize";
    const TensorDesc& x = view->input(0);
    if (x.dtype != DType::kFloat32) return "data of dtype " + std::string(dtype_name(x.dtype));
    if (x.dims.size() < 3 || x.dims.size() > 2 + kAxes)
      return "data that is not [N,C] with one to three spatial dimensions";
    for (size_t i = 1; i < 4; ++i)
      if (view->has_input(i) && !view->input(i).constant) return "scales or sizes that only the run tells";
    for (int64_t d : x.dims)
      if (d == 0) return "no elements";
    const auto a = read_attributes<ResizeAttributes>(view->node().attributes);
    const std::vector<ResizeAxis> axes = axes_of(*view, a);
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].output != view->output(0)->dims[d]) return "a result of another size than the scales give";
      if (d < 2 && !resize_taps(a, axes[d]).is_identity) return "batch or channels are resized";
    }
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<ResizeKernel>(*NodeView::of(problem, {"Resize"}), problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Resize>()); }

}  // namespace wootz::cpu_resize_tactic
