// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions of stride 1, and pools of 2x2 behind them, by Winograd's F(2x2, 3x3) and F(4x4, 3x3): 2.25
// and 4 times fewer multiplications. The method's own rounding error is about twice that of the plain sum for
// F(4x4) and below it for F(2x2).
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/conv/winograd_transform.h"
#include "backends/cpu/kernels/gemm/packed_panels.h"
#include "device/pooled_problem.h"

namespace wootz::cpu_conv_winograd_tactic {
namespace {

constexpr int64_t kByOutputs = 1;  // config "split"

/// One product's panels: `k` rows for each of the transformed positions; positions follow each other within a
/// panel.
PackedPanels winograd_panels(const PanelKernels& kernels, int64_t channels, int64_t outputs) {
  PackedPanels p;
  p.k = channels;
  p.n = outputs;
  p.panel = choose_panel(kernels, outputs);
  p.width = kernels.width;
  return p;
}

Tensor pack_winograd(const PanelKernels& kernels, const Tensor& weights, int m) {
  const int64_t outputs = weights.dims()[0], channels = weights.dims()[1], positions = (m + 2) * (m + 2);
  const PackedPanels p = winograd_panels(kernels, channels, outputs);
  Tensor packed = Tensor::zeros(DType::kFloat32, {positions * p.floats()});
  const float* w = weights.as<float>();
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t panel = o / p.panel, column = o % p.panel, pitch = p.pitch(panel);
    float* to = packed.as<float>() + panel * p.panel * channels * positions + column;
    for (int64_t c = 0; c < channels; ++c, w += 9) {
      double kernel[3][3], u[36];
      for (int i = 0; i < 9; ++i) kernel[i / 3][i % 3] = w[i];
      transform_winograd_kernel(m, kernel, u);
      for (int64_t x = 0; x < positions; ++x) to[(x * channels + c) * pitch] = static_cast<float>(u[x]);
    }
  }
  return packed;
}

/// The convolution of a region, and the pool behind it where there is one.
struct Pooling {
  PooledProblem pooled;  // owns what `conv` looks at where there is a pool
  ConvProblem conv;
  int64_t pooled_h = 0, pooled_w = 0;  // 0: no pool

  static std::optional<std::string> read(const Problem& problem, Pooling& p) {
    if (PooledProblem::make(problem, p.pooled)) return ConvProblem::read(problem, p.conv);
    if (p.pooled.window != 2) return "a pool of 3x3";
    if (auto why = ConvProblem::read(p.pooled.plain, p.conv)) return why;
    if (!p.conv.epilogue.in_registers()) return "more than bias, residual and clamp in front of a pool";
    const auto pitch = row_pitch(p.pooled.result, 1);
    if (!pitch) return "the pool's result is not channels-last with evenly spaced pixels";
    p.conv.y_pitch = *pitch;
    p.pooled_h = p.pooled.result.dims[2], p.pooled_w = p.pooled.result.dims[3];
    return std::nullopt;
  }
  const Problem& plain(const Problem& problem) const { return pooled_h ? pooled.plain : problem; }
};

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const Problem& problem, Pooling pooling, const TacticConfig& config, Tensor packed)
      : pooling_(std::move(pooling)),
        conv_(pooling_.conv),
        kernels_(panel_kernels(static_cast<Isa>(config.get("isa")))),
        m_(static_cast<int>(config.get("tile"))),
        by_outputs_(config.get("split") == kByOutputs),
        parts_(problem.threads),
        packed_(std::move(packed)),
        panels_(winograd_panels(kernels_, conv_.geometry.channels, conv_.geometry.outputs)) {
    const WinogradTransforms& t = winograd_transforms(kernels_.isa);
    input_ = m_ == 2 ? t.input2 : t.input4;
    output_ = m_ == 2 ? t.output2 : t.output4;
    const ConvGeometry& g = conv_.geometry;
    shape_ = {g.in_h,
              g.in_w,
              g.out_h,
              g.out_w,
              g.pad_top,
              g.pad_left,
              (g.out_h + m_ - 1) / m_,
              (g.out_w + m_ - 1) / m_,
              g.channels,
              conv_.x.n,
              conv_.x.h,
              conv_.x.w,
              pooling_.pooled_h,
              pooling_.pooled_w};
    tiles_ = g.batch * shape_.tiles_h * shape_.tiles_w;
    positions_ = (m_ + 2) * (m_ + 2);
    // Off the powers of two: the rows of one kernel call would share an L1 set.
    ldv_ = (g.channels + 15) / 16 * 16 + 16;
    ldm_ = panels_.panel;
    zeros_ = Tensor::zeros(DType::kFloat32, {ldv_});
    choose_block(config.get("block_kb", 320) << 10);
  }

  size_t workspace_bytes() const override {
    const int64_t v = by_outputs_ ? v_floats() : parts_ * v_floats();
    return static_cast<size_t>(v + parts_ * m_floats()) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    auto* space = static_cast<float*>(args.workspace);
    if (by_outputs_)
      run_by_outputs(args, x, y, space, epilogue);
    else
      run_by_tiles(args, x, y, space, epilogue);
  }

 private:
  int64_t matrix_v() const { return block_ * ldv_ + 16; }
  int64_t matrix_m() const { return block_ * ldm_ + 16; }
  int64_t v_floats() const { return positions_ * matrix_v(); }
  int64_t m_floats() const { return positions_ * matrix_m(); }

  void choose_block(int64_t block_bytes) {
    if (by_outputs_) {
      block_ = tiles_;
      return;
    }
    const int64_t per_tile = positions_ * (ldv_ + ldm_) * 4;
    const int64_t most = std::max<int64_t>(1, block_bytes / per_tile);
    const int64_t share = (tiles_ + parts_ - 1) / parts_;
    const int64_t blocks = (share + most - 1) / most;
    block_ = (share + blocks - 1) / blocks;
  }

  void run_by_tiles(const LaunchArgs& args, const float* x, float* y, float* space,
                    const Epilogue& epilogue) {
    pool_of(args)(parts_, [&](int part, int parts) {
      float* v = space + part * (v_floats() + m_floats());
      float* m = v + v_floats();
      const int64_t t0 = tiles_ * part / parts, t1 = tiles_ * (part + 1) / parts;
      const int64_t blocks = (t1 - t0 + block_ - 1) / block_;
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t a = t0 + (t1 - t0) * b / blocks, z = t0 + (t1 - t0) * (b + 1) / blocks;
        transform_input(x, a, z, v);
        outputs(y, a, z, v, m, 0, panels_.panels(), epilogue);
      }
    });
  }

  /// Few tiles and large weights: every part reads only its share of the weights, at the price of one more
  /// join.
  void run_by_outputs(const LaunchArgs& args, const float* x, float* y, float* space,
                      const Epilogue& epilogue) {
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t t0 = tiles_ * part / parts, t1 = tiles_ * (part + 1) / parts;
      transform_input(x, t0, t1, space + t0 * ldv_);
    });
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t count = panels_.panels();
      outputs(y, 0, tiles_, space, space + v_floats() + part * m_floats(), count * part / parts,
              count * (part + 1) / parts, epilogue);
    });
  }

  void transform_input(const float* x, int64_t t0, int64_t t1, float* v) const {
    input_({&shape_, x, zeros_.as<float>(), t0, t1, v, ldv_, matrix_v()});
  }

  void outputs(float* y, int64_t t0, int64_t t1, const float* v, float* m, int64_t p0, int64_t p1,
               const Epilogue& epilogue) const {
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t column = p * panels_.panel, pitch = panels_.pitch(p);
      const float* u = packed_.as<float>() + column * panels_.k * positions_;
      PanelArgs args;
      args.lda = ldv_;
      args.segment_length = panels_.k;
      args.ldb = pitch;
      args.ldc = ldm_;
      args.m = t1 - t0;
      args.n = static_cast<int>(pitch);  // whole vectors: the padding columns of the weights are zero
      for (int64_t i = 0; i < positions_; ++i) {
        args.a = v + i * matrix_v();
        args.b = u + i * panels_.k * pitch;
        args.c = m + i * matrix_m();
        kernels_.product(args);
      }
      WinogradOutput out{&shape_, t0, t1, m, ldm_, matrix_m(), panels_.columns(p), y + column, conv_.y_pitch};
      out.bias = epilogue.bias ? epilogue.bias + column : nullptr;
      out.addend = epilogue.addend ? epilogue.addend + column : nullptr;
      out.ld_addend = epilogue.ld_addend;
      out.low = epilogue.low;
      out.high = epilogue.high;
      output_(out);
    }
    if (epilogue.has_tail && p1 > p0)
      tail(y, t0, t1, p0 * panels_.panel, std::min(panels_.n, p1 * panels_.panel), epilogue);
  }

  /// The pointwise tail over the pixels of the tiles, in runs along rows of tiles.
  void tail(float* y, int64_t t0, int64_t t1, int64_t c0, int64_t c1, const Epilogue& epilogue) const {
    for (int64_t t = t0; t < t1;) {
      const int64_t first = t % shape_.tiles_w, line = t / shape_.tiles_w;
      const int64_t count = std::min(shape_.tiles_w - first, t1 - t);
      const int64_t x0 = first * m_, x1 = std::min(shape_.out_w, (first + count) * m_);
      const int64_t image = line / shape_.tiles_h, y0 = line % shape_.tiles_h * m_;
      for (int64_t row = y0; row < std::min(shape_.out_h, y0 + m_); ++row) {
        const int64_t pixel = (image * shape_.out_h + row) * shape_.out_w + x0;
        epilogue.apply(y + pixel * conv_.y_pitch + c0, pixel, c0, x1 - x0, c1 - c0, conv_.y_pitch);
      }
      t += count;
    }
  }

  Pooling pooling_;
  const ConvProblem& conv_;  // of pooling_
  const PanelKernels& kernels_;
  int m_;
  bool by_outputs_;
  int parts_;
  Tensor packed_, zeros_;
  PackedPanels panels_;
  void (*input_)(const WinogradInput&);
  void (*output_)(const WinogradOutput&);
  WinogradShape shape_;
  int64_t tiles_ = 0, positions_ = 0, ldv_ = 0, ldm_ = 0, block_ = 0;
};

class ConvWinogradTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.winograd"; }
  /// Relative to the largest output; a tail that cuts large values off leaves the error as it was.
  double extra_error() const override { return 2e-5; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Pooling pooling;
    if (auto why = Pooling::read(problem, pooling)) return why;
    const ConvProblem& conv = pooling.conv;
    const ConvGeometry& g = conv.geometry;
    if (problem.inputs[static_cast<size_t>(conv.w_input)].dims.size() != 4) return "one spatial dimension";
    if (g.kernel_h != 3 || g.kernel_w != 3) return "the kernel is not 3x3";
    if (g.stride_h != 1 || g.stride_w != 1) return "a stride";
    if (g.dilation_h != 1 || g.dilation_w != 1) return "dilation";
    if (g.groups != 1) return "groups";
    if (g.channels < 8 || g.outputs < 8)
      return "fewer than 8 channels: the transforms would cost more than they save";
    if (conv.x.c != 1) return "the input is not channels-last";
    if (g.pixels() == 0) return "an empty result";
    if (!problem.inputs[static_cast<size_t>(conv.w_input)].constant) return "the weights are not constant";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Pooling pooling;
    Pooling::read(problem, pooling);
    const ConvGeometry& g = pooling.conv.geometry;
    const int64_t isa = static_cast<int64_t>(available_isas()[0]);
    const auto config = [&](int64_t tile, int64_t split, int64_t kb) {
      return TacticConfig{{{"isa", isa}, {"tile", tile}, {"split", split}, {"block_kb", kb}}};
    };
    // Transformed weights are 4 times (F4) as large; once they outweigh the cache and the tiles are few, F2
    // wins.
    const bool small_image = g.pixels() <= 256 && g.channels * g.outputs >= 256 * 256;
    std::vector<TacticConfig> list = {config(4, 0, 320), config(4, 0, 1280), config(2, 0, 640)};
    if (small_image) std::rotate(list.begin(), list.begin() + 2, list.end());
    if (problem.threads > 1) {
      list.push_back(config(4, kByOutputs, 0));
      list.push_back(config(2, kByOutputs, 0));
      if (small_image) std::swap(list.front(), list.back());
    }
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    Pooling pooling;
    Pooling::read(problem, pooling);
    return {pack_winograd(panel_kernels(static_cast<Isa>(config.get("isa"))),
                          conv_weights(pooling.plain(problem)), static_cast<int>(config.get("tile")))};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Pooling pooling;
    if (auto why = Pooling::read(problem, pooling))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<WinogradKernel>(problem, std::move(pooling), config, packed[0]);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<ConvWinogradTactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_conv_winograd_tactic
