// SPDX-License-Identifier: Apache-2.0
// MaxPool and AveragePool: channel vectors per output pixel where channels are fastest, rows of output pixels
// where the last spatial axis is.
#include <cmath>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "ops/nn/pool.h"

namespace wootz::cpu_pool_tactic {
namespace {

constexpr size_t kAxes = 3;  // depth, height, width; missing ones have size 1

/// One spatial axis: input positions o * stride - pad + t * dilation for t < taps.
struct Axis {
  int64_t input = 1, output = 1, taps = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0;
  int64_t from = 0, to = 0;  // element strides

  int64_t first(int64_t o) const { return o * stride - pad; }
  /// Taps [begin, end) that lie inside the input.
  std::pair<int64_t, int64_t> inside(int64_t o) const {
    const int64_t at = first(o);
    const int64_t begin = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
    const int64_t end = at >= input ? 0 : std::min(taps, (input - at + dilation - 1) / dilation);
    return {begin, std::max(begin, end)};
  }
  /// Taps inside the padded input: what count_include_pad divides by.
  int64_t counted(int64_t o) const {
    int64_t count = 0;
    for (int64_t t = 0; t < taps; ++t) count += first(o) + t * dilation < input + pad_end;
    return count;
  }
};

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const NodeView& view) : source_(view.source(0)), average_(view.is("AveragePool")) {
    const auto a = read_attributes<AveragePoolAttributes>(view.node().attributes);
    include_pad_ = a.count_include_pad != 0;
    const TensorDesc &x = view.input(0), &y = *view.output(0);
    const Dims strides = strides_of(x);
    const Window w = pool_window(a, x.dims);
    batch_ = x.dims[0], channels_ = x.dims[1];
    from_batch_ = strides[0], to_batch_ = y.strides[0];
    from_channel_ = strides[1], to_channel_ = y.strides[1];
    for (size_t i = 0; i < w.rank(); ++i)
      axes_[kAxes - w.rank() + i] = {w.input[i],    w.output[i],    w.kernel[i],
                                     w.strides[i],  w.dilations[i], w.pads_begin[i],
                                     w.pads_end[i], strides[i + 2], y.strides[i + 2]};
    by_channel_ = from_channel_ == 1 && to_channel_ == 1;
  }

  void launch(const LaunchArgs& args) noexcept override {
    const float* x = source_.as<float>(args);
    float* y = static_cast<float*>(args.outputs[0]);
    const int64_t lines = axes_[0].output * axes_[1].output;  // of output pixels
    const int64_t planes = by_channel_ ? batch_ : batch_ * channels_;
    const double taps = static_cast<double>(axes_[0].taps * axes_[1].taps * axes_[2].taps);
    const double seconds = static_cast<double>(batch_ * channels_ * lines * axes_[2].output) * taps *
                           (by_channel_ ? 0.1e-9 : 0.5e-9);
    parallel_ranges(pool_of(args), planes * lines, 1, seconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / lines, line = i % lines;
        const int64_t n = by_channel_ ? plane : plane / channels_, c = by_channel_ ? 0 : plane % channels_;
        const float* from = x + n * from_batch_ + c * from_channel_;
        float* to = y + n * to_batch_ + c * to_channel_;
        if (by_channel_)
          channel_line(from, to, line);
        else
          pixel_line(from, to, line);
      }
    });
  }

 private:
  /// Calls f(input offset) for the taps of depth and height that lie inside, and returns how many taps a
  /// pixel counts.
  template <class F>
  int64_t outer_taps(int64_t line, F&& f) const {
    const int64_t z = line / axes_[1].output, y = line % axes_[1].output;
    const auto [z_begin, z_end] = axes_[0].inside(z);
    const auto [y_begin, y_end] = axes_[1].inside(y);
    for (int64_t tz = z_begin; tz < z_end; ++tz)
      for (int64_t ty = y_begin; ty < y_end; ++ty)
        f((axes_[0].first(z) + tz * axes_[0].dilation) * axes_[0].from +
          (axes_[1].first(y) + ty * axes_[1].dilation) * axes_[1].from);
    return include_pad_ ? axes_[0].counted(z) * axes_[1].counted(y) : (z_end - z_begin) * (y_end - y_begin);
  }
  int64_t line_offset(int64_t line) const {
    return line / axes_[1].output * axes_[0].to + line % axes_[1].output * axes_[1].to;
  }
  int64_t counted(int64_t x) const {
    const auto [begin, end] = axes_[2].inside(x);
    return include_pad_ ? axes_[2].counted(x) : end - begin;
  }

  void channel_line(const float* from, float* to, int64_t line) const {
    const RowKernels& row = row_kernels();
    const Axis& w = axes_[2];
    for (int64_t x = 0; x < w.output; ++x) {
      float* out = to + line_offset(line) + x * w.to;
      std::fill(out, out + channels_, average_ ? 0.0f : -HUGE_VALF);
      const auto [begin, end] = w.inside(x);
      const int64_t outer = outer_taps(line, [&, begin = begin, end = end](int64_t offset) {
        for (int64_t t = begin; t < end; ++t) {
          const float* p = from + offset + (w.first(x) + t * w.dilation) * w.from;
          if (average_)
            row.add_scaled(p, channels_, 1.0f, out);
          else
            row.max_into(p, channels_, out);
        }
      });
      if (average_)
        row.affine(out, channels_, 0.0f, 1.0f / static_cast<float>(outer * counted(x)), 0.0f, out);
    }
  }

  void pixel_line(const float* from, float* to, int64_t line) const {
    const RowKernels& row = row_kernels();
    const Axis& w = axes_[2];
    float* out = to + line_offset(line);
    for (int64_t x = 0; x < w.output; ++x) out[x * w.to] = average_ ? 0.0f : -HUGE_VALF;
    const int64_t outer = outer_taps(line, [&](int64_t offset) {
      for (int64_t t = 0; t < w.taps; ++t) {
        // Output pixels whose tap t lies inside the input.
        const int64_t shift = t * w.dilation - w.pad;
        const int64_t begin = shift >= 0 ? 0 : (-shift + w.stride - 1) / w.stride;
        const int64_t end = std::min(w.output, shift >= w.input ? 0 : (w.input - 1 - shift) / w.stride + 1);
        if (begin >= end) continue;
        const float* p = from + offset + (begin * w.stride + shift) * w.from;
        if (w.stride * w.from == 1 && w.to == 1) {
          if (average_)
            row.add_scaled(p, end - begin, 1.0f, out + begin);
          else
            row.max_into(p, end - begin, out + begin);
          continue;
        }
        const int64_t step = w.stride * w.from;
        for (int64_t x = begin; x < end; ++x, p += step) {
          float& best = out[x * w.to];
          if (average_)
            best += *p;
          else if (*p > best || *p != *p)
            best = *p;
        }
      }
    });
    if (!average_) return;
    for (int64_t x = 0; x < w.output; ++x) out[x * w.to] /= static_cast<float>(outer * counted(x));
  }

  OperandSource source_;
  bool average_, include_pad_ = false, by_channel_ = false;
  int64_t batch_ = 0, channels_ = 0, from_batch_ = 0, to_batch_ = 0, from_channel_ = 0, to_channel_ = 0;
  Axis axes_[kAxes];
};

class Pool final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.pool.direct"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"MaxPool", "AveragePool"});
    if (!view || problem.outputs.size() != 1 || !view->output(0))
      return "not one pool with its first result only";
    if (view->input(0).dtype != DType::kFloat32)
      return "data of dtype " + std::string(dtype_name(view->input(0).dtype));
    if (view->input(0).dims.size() < 3 || view->input(0).dims.size() > 2 + kAxes)
      return "more than three spatial dimensions";
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<PoolKernel>(*NodeView::of(problem, {"MaxPool", "AveragePool"}));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Pool>()); }

}  // namespace wootz::cpu_pool_tactic
