// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization, GroupNormalization and BatchNormalization (inference) over [N, C, spatial...],
// row-major or channels last: statistics of each group of channels, then one scale and offset a channel.
#include <cmath>
#include <tuple>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "backends/cpu/pointwise/tile_kernels.h"
#include "ops/nn/norm.h"

namespace wootz::cpu_channel_norm_tactic {
namespace {

constexpr int64_t kRows = 512;  // rows that are summed in float32

void mul_add(const float* a, const float* b, const float* c, float* out, int64_t count) {
  TileArgs args;
  args.in[0] = a, args.in[1] = b, args.in[2] = c, args.stride[0] = args.stride[1] = args.stride[2] = 1;
  args.out = out, args.count = static_cast<int>(count);
  tile_functions()[tile_kernel_id(TileExtra::kMulAdd)](args);
}
void subtract(const float* a, const float* b, float* out, int64_t count) {
  TileArgs args;
  args.in[0] = a, args.in[1] = b, args.stride[0] = args.stride[1] = 1, args.out = out,
  args.count = static_cast<int>(count);
  tile_functions()[tile_kernel_id(ScalarOp::kSub)](args);
}

class ChannelNormKernel final : public Kernel {
 public:
  ChannelNormKernel(const NodeView& view, int threads)
      : source_(view.source(0)), batch_norm_(view.is("BatchNormalization")), threads_(threads) {
    const Attributes& a = view.node().attributes;
    epsilon_ = a.get<float>("epsilon", 1e-5f);
    const Dims& dims = view.input(0).dims;
    batch_ = dims[0], channels_ = dims.size() > 1 ? dims[1] : 1;
    for (size_t d = 2; d < dims.size(); ++d) spatial_ *= dims[d];
    groups_ = view.is("GroupNormalization") ? a.get<int64_t>("num_groups", 1) : channels_;
    last_ = !(view.input(0).constant || view.input(0).is_row_major());
    for (size_t i = 1; i < view.input_count(); ++i) {
      parameters_.push_back(view.source(i));
      // Opset 18's GroupNormalization has one parameter for each group.
      per_group_ = view.is("GroupNormalization") && view.input(i).size() == groups_ && groups_ != channels_;
    }
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(last_ ? kArrays * padded() : 0) * sizeof(float) *
           static_cast<size_t>(threads_);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const float* x = source_.as<float>(args);
    float* y = static_cast<float*>(args.outputs[0]);
    const double seconds =
        static_cast<double>(batch_ * channels_ * spatial_) * (batch_norm_ ? 0.2e-9 : 0.5e-9);
    if (!last_) {
      const int64_t size = channels_ / std::max<int64_t>(groups_, 1);
      parallel_ranges(pool_of(args), batch_ * groups_, 1, seconds, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          planes(args, x + i * size * spatial_, y + i * size * spatial_, i % groups_, size);
      });
      return;
    }
    // Channels last: a part has whole groups of whole channels, at least a cache line of them.
    const int64_t size = channels_ / std::max<int64_t>(groups_, 1);
    const int64_t grain = std::max<int64_t>(1, (16 + size - 1) / size);
    parallel_ranges(pool_of(args), groups_, grain, seconds, [&](int64_t begin, int64_t end, int part) {
      float* work = static_cast<float*>(args.workspace) + kArrays * padded() * part;
      for (int64_t n = 0; n < batch_; ++n)
        columns(args, x + n * spatial_ * channels_, y + n * spatial_ * channels_, begin, end, size, work);
    });
  }

 private:
  static constexpr int64_t kArrays = 7;  // five of floats and one of doubles
  int64_t padded() const { return (channels_ + 15) / 16 * 16; }
  float parameter(const LaunchArgs& args, size_t which, int64_t channel) const {
    return parameters_[which].as<float>(args)[per_group_ ? channel / (channels_ / groups_) : channel];
  }
  /// Mean and 1 / sqrt(variance + epsilon) that BatchNormalization is given.
  std::pair<float, float> given(const LaunchArgs& args, int64_t channel) const {
    const double variance = parameter(args, 3, channel);
    return {parameter(args, 2, channel),
            static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon_)))};
  }

  /// A group of `size` channels whose planes follow each other.
  void planes(const LaunchArgs& args, const float* x, float* y, int64_t group, int64_t size) const {
    const RowKernels& kernels = row_kernels();
    const double count = static_cast<double>(size * spatial_);
    std::pair<float, float> moments;
    if (batch_norm_) {
      moments = given(args, group);
    } else {
      moments.first = static_cast<float>(kernels.sum(x, size * spatial_) / count);
      const double variance = kernels.sum_squares(x, size * spatial_, moments.first) / count;
      moments.second = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon_)));
    }
    for (int64_t c = 0; c < size; ++c) {
      const int64_t channel = group * size + c;
      kernels.affine(x + c * spatial_, spatial_, moments.first, moments.second * parameter(args, 0, channel),
                     parameter(args, 1, channel), y + c * spatial_);
    }
  }

  /// Groups [begin, end) of one sample whose channels are fastest.
  void columns(const LaunchArgs& args, const float* x, float* y, int64_t begin, int64_t end, int64_t size,
               float* work) const {
    const int64_t first = begin * size, width = (end - begin) * size;
    float *mean = work, *scale = work + padded(), *offset = scale + padded(), *sums = offset + padded(),
          *stage = sums + padded();
    for (int64_t c = 0; c < width; ++c) {
      mean[c] = 0;
      if (batch_norm_) std::tie(mean[c], scale[c]) = given(args, first + c);
    }
    if (!batch_norm_) {
      moments(x + first, width, size, mean, sums, stage, mean, false);
      moments(x + first, width, size, mean, sums, stage, scale, true);
      for (int64_t c = 0; c < width; ++c)
        scale[c] =
            static_cast<float>(1 / std::sqrt(static_cast<double>(scale[c]) + static_cast<double>(epsilon_)));
    }
    for (int64_t c = 0; c < width; ++c) {
      scale[c] *= parameter(args, 0, first + c);
      offset[c] = parameter(args, 1, first + c);
    }
    for (int64_t s = 0; s < spatial_; ++s) {
      float* to = y + s * channels_ + first;
      subtract(x + s * channels_ + first, mean, to, width);
      mul_add(to, scale, offset, to, width);
    }
  }

  /// The mean of each channel's group into `result` (every channel of the group gets it), or that of (x -
  /// mean)^2.
  void moments(const float* x, int64_t width, int64_t size, const float* mean, float* sums, float* stage,
               float* result, bool squares) const {
    double* totals = reinterpret_cast<double*>(stage + padded());
    std::fill(totals, totals + width, 0.0);
    for (int64_t start = 0; start < spatial_; start += kRows) {
      std::fill(sums, sums + width, 0.0f);
      for (int64_t s = start; s < std::min(spatial_, start + kRows); ++s) {
        const float* row = x + s * channels_;
        if (squares) {
          subtract(row, mean, stage, width);
          mul_add(stage, stage, sums, sums, width);
        } else {
          row_kernels().add_scaled(row, width, 1.0f, sums);
        }
      }
      for (int64_t c = 0; c < width; ++c) totals[c] += static_cast<double>(sums[c]);
    }
    for (int64_t g = 0; g < width; g += size) {
      double sum = 0;
      for (int64_t c = 0; c < size; ++c) sum += totals[g + c];
      std::fill(result + g, result + g + size,
                static_cast<float>(sum / static_cast<double>(size * spatial_)));
    }
  }

  OperandSource source_;
  bool batch_norm_, last_ = false, per_group_ = false;
  int threads_;
  float epsilon_ = 0;
  int64_t batch_ = 0, channels_ = 0, groups_ = 1, spatial_ = 1;
  std::vector<OperandSource> parameters_;
};

std::optional<NodeView> view_of(const Problem& problem) {
  return NodeView::of(problem, {"InstanceNormalization", "GroupNormalization", "BatchNormalization"});
}

class ChannelNorm final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.channel_norm.two_pass"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = view_of(problem);
    if (!view || problem.outputs.size() != 1 || !view->output(0))
      return "not one channel norm with one result";
    const Attributes& a = view->node().attributes;
    if (a.get<int64_t>("training_mode", 0) != 0) return "training";
    if (a.get<int64_t>("spatial", 1) == 0) return "statistics for every element of a sample";
    const TensorDesc &x = view->input(0), &y = *view->output(0);
    if (x.dims.size() < 2) return "data without channels";
    const bool rows = (x.constant || x.is_row_major()) && y.is_row_major();
    if (!rows && !(x.is_channels_last() && y.is_channels_last()))
      return "neither row-major nor channels-last throughout";
    for (size_t i = 0; i < view->input_count(); ++i) {
      if (view->input(i).dtype != DType::kFloat32)
        return "an operand of dtype " + std::string(dtype_name(view->input(i).dtype));
      if (i > 0 && !view->input(i).constant && !view->input(i).is_row_major())
        return "parameters that are not dense";
    }
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<ChannelNormKernel>(*view_of(problem), problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<ChannelNorm>()); }

}  // namespace wootz::cpu_channel_norm_tactic
