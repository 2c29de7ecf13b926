// SPDX-License-Identifier: Apache-2.0
// A 1x1 convolution behind a squeeze-and-excite gate: blocks of pixels are multiplied by their image's
// factors into the cache and go on to the product from there. The gated activations never reach memory.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_weights.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"
#include "backends/cpu/pointwise/tile_kernels.h"
#include "device/gated_problem.h"

namespace wootz::cpu_conv_gated1x1_tactic {
namespace {

constexpr int64_t kRun = 512;  // least floats that one call of the multiplication takes, where rows are short

class Gated1x1Kernel final : public Kernel {
 public:
  Gated1x1Kernel(const Problem& problem, GatedProblem gated, ConvProblem conv, const PanelKernels& kernels,
                 Tensor packed, int64_t split)
      : gated_(std::move(gated)),
        conv_(std::move(conv)),
        kernels_(kernels),
        packed_(std::move(packed)),
        panels_(conv_panel_shape(kernels, problem.inputs[static_cast<size_t>(conv_.w_input)].dims, 1)),
        multiply_(tile_functions()[tile_kernel_id(ScalarOp::kMul)]),
        parts_(worthwhile_parts(conv_.geometry.pixels() * panels_.n * panels_.k, problem.threads)),
        split_(split) {
    panels_.data = packed_.as<float>();
    const ConvGeometry& g = conv_.geometry;
    const auto pitch = row_pitch(problem.inputs[static_cast<size_t>(conv_.x_input)], 1);
    pixel_pitch_ = pitch ? *pitch : conv_.x.w;
    line_pixels_ = pitch ? g.out_h * g.out_w : g.out_w;
    const TensorDesc& gate = problem.inputs[static_cast<size_t>(gated_.gate_input)];
    gate_image_ = gate.dims[0] == 1 ? 0 : gate.strides[0];
    gate_channel_ = gate.strides[1];
    repeats_ = pixel_pitch_ == panels_.k ? std::max<int64_t>(1, kRun / panels_.k) : 1;
    block_ = std::min(block_rows(kernels_, panels_.k, panels_.n), line_pixels_);
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_ * part_floats()) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    const auto* gate = static_cast<const float*>(args.inputs[gated_.gate_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t rows = conv_.geometry.pixels(), count = panels_.panels();
    pool_of(args)(parts_, [&](int part, int parts) {
      PartRange r = part_range(kernels_, rows, count, panels_.k, part, parts);
      if (split_ == 1) r = {rows * part / parts, rows * (part + 1) / parts, 0, count};
      if (split_ == 2) r = {0, rows, count * part / parts, count * (part + 1) / parts};
      float* factors = static_cast<float*>(args.workspace) + part * part_floats();
      int64_t image = -1;
      for (int64_t row = r.r0; row < r.r1 && r.p0 < r.p1;) {
        const int64_t line = row / line_pixels_, first = row % line_pixels_;
        const int64_t here = std::min({line_pixels_ - first, r.r1 - row, block_});
        const int64_t of = row / (conv_.geometry.out_h * conv_.geometry.out_w);
        if (of != image) load_factors(gate + of * gate_image_, factors);
        image = of;
        float* scaled = factors + factor_floats();
        scale(x + line_offset(line) + first * pixel_pitch_, here, factors, scaled);
        LeftRows left;
        left.a = scaled;
        left.lda = panels_.k;
        left.segment_length = panels_.k;
        multiply_block(kernels_, panels_, left, here, r.p0, r.p1,
                       {y + row * conv_.y_pitch, conv_.y_pitch, row, 0}, epilogue);
        row += here;
      }
    });
  }

 private:
  int64_t factor_floats() const { return (repeats_ * panels_.k + 15) / 16 * 16; }
  int64_t part_floats() const { return factor_floats() + (block_ * panels_.k + 15) / 16 * 16; }

  int64_t line_offset(int64_t line) const {
    const ConvGeometry& g = conv_.geometry;
    return line_pixels_ == g.out_w && g.out_h != 1 ? line / g.out_h * conv_.x.n + line % g.out_h * conv_.x.h
                                                   : line * conv_.x.n;
  }

  void load_factors(const float* gate, float* factors) const {
    for (int64_t c = 0; c < panels_.k; ++c) factors[c] = gate[c * gate_channel_];
    for (int64_t i = 1; i < repeats_; ++i)
      std::memcpy(factors + i * panels_.k, factors, static_cast<size_t>(panels_.k) * sizeof(float));
  }

  void scale(const float* x, int64_t rows, const float* factors, float* out) const {
    for (int64_t row = 0; row < rows; row += repeats_) {
      TileArgs tile;
      tile.in[0] = x + row * pixel_pitch_;
      tile.in[1] = factors;
      tile.stride[0] = tile.stride[1] = 1;
      tile.out = out + row * panels_.k;
      tile.count = static_cast<int>(std::min(repeats_, rows - row) * panels_.k);
      multiply_(tile);
    }
  }

  GatedProblem gated_;
  ConvProblem conv_;  // points into gated_
  const PanelKernels& kernels_;
  Tensor packed_;
  PackedPanels panels_;
  TileFunction multiply_;
  int parts_;
  int64_t split_;                      // 0: by the sizes, 1: pixels, 2: output channels
  int64_t pixel_pitch_, line_pixels_;  // lines of evenly spaced pixels: whole images, else rows
  int64_t gate_image_, gate_channel_;  // strides
  int64_t repeats_;                    // copies of the factors in a row
  int64_t block_;                      // pixels
};

class ConvGated1x1Tactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.gated1x1"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    GatedProblem gated;
    if (auto why = GatedProblem::make(problem, gated)) return why;
    ConvProblem conv;
    if (auto why = ConvProblem::read(gated.plain, conv)) return why;
    const ConvGeometry& g = conv.geometry;
    if (!g.is_pointwise()) return "not a plain 1x1 convolution";
    if (g.groups != 1) return "groups";
    if (conv.x.c != 1) return "the input is not channels-last";
    if (g.pixels() == 0) return "an empty result";
    if (!problem.inputs[static_cast<size_t>(conv.w_input)].constant) return "the weights are not constant";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    const int64_t isa = static_cast<int64_t>(available_isas()[0]);
    if (problem.threads == 1) return {{{{"isa", isa}, {"split", 0}}}};
    return {{{{"isa", isa}, {"split", 0}}}, {{{"isa", isa}, {"split", 1}}}, {{{"isa", isa}, {"split", 2}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    GatedProblem gated;
    GatedProblem::make(problem, gated);
    return {
        pack_conv_weights(panel_kernels(static_cast<Isa>(config.get("isa"))), conv_weights(gated.plain), 1)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    GatedProblem gated;
    auto why = GatedProblem::make(problem, gated);
    ConvProblem conv;
    if (!why) why = ConvProblem::read(gated.plain, conv);
    if (why) throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<Gated1x1Kernel>(problem, std::move(gated), std::move(conv),
                                            panel_kernels(static_cast<Isa>(config.get("isa"))), packed[0],
                                            config.get("split"));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<ConvGated1x1Tactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_conv_gated1x1_tactic
