// SPDX-License-Identifier: Apache-2.0
// A 1x1 convolution is a matrix product over pixels; with a stride, over the pixels of one row at a time.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_weights.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"

namespace wootz::cpu_conv_direct1x1_tactic {
namespace {

/// Rows of evenly spaced pixels: all pixels where the input has no gaps and no stride, else one output row.
struct PixelLines {
  int64_t lines = 1, pixels = 0, pixel_pitch = 0;
  bool whole = false;
};

PixelLines pixel_lines(const Problem& problem, const ConvProblem& conv) {
  const ConvGeometry& g = conv.geometry;
  const auto pitch = row_pitch(problem.inputs[static_cast<size_t>(conv.x_input)], 1);
  if (g.is_pointwise() && pitch) return {1, g.pixels(), *pitch, true};
  return {g.batch * g.out_h, g.out_w, conv.x.w * g.stride_w, false};
}

class Direct1x1Kernel final : public Kernel {
 public:
  Direct1x1Kernel(const Problem& problem, ConvProblem conv, const PanelKernels& kernels, Tensor packed,
                  int64_t split)
      : conv_(std::move(conv)),
        kernels_(kernels),
        packed_(std::move(packed)),
        panels_(conv_panel_shape(kernels, problem.inputs[static_cast<size_t>(conv_.w_input)].dims, 1)),
        lines_(pixel_lines(problem, conv_)),
        parts_(worthwhile_parts(conv_.geometry.pixels() * panels_.n * panels_.k, problem.threads)),
        split_(split) {
    panels_.data = packed_.as<float>();
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t rows = conv_.geometry.pixels(), count = panels_.panels();
    pool_of(args)(parts_, [&](int part, int parts) {
      PartRange r = part_range(kernels_, rows, count, panels_.k, part, parts);
      if (split_ == 1) r = {rows * part / parts, rows * (part + 1) / parts, 0, count};
      if (split_ == 2) r = {0, rows, count * part / parts, count * (part + 1) / parts};
      for (int64_t row = r.r0; row < r.r1;) {
        const int64_t line = row / lines_.pixels, first = row % lines_.pixels;
        const int64_t here = std::min(lines_.pixels - first, r.r1 - row);
        LeftRows left;
        left.a = x + line_offset(line) + first * lines_.pixel_pitch;
        left.lda = lines_.pixel_pitch;
        left.segment_length = panels_.k;
        multiply_rows(kernels_, panels_, left, here, r.p0, r.p1,
                      {y + row * conv_.y_pitch, conv_.y_pitch, row, 0}, epilogue);
        row += here;
      }
    });
  }

 private:
  int64_t line_offset(int64_t line) const {
    const ConvGeometry& g = conv_.geometry;
    return lines_.whole ? 0 : line / g.out_h * conv_.x.n + line % g.out_h * g.stride_h * conv_.x.h;
  }

  ConvProblem conv_;
  const PanelKernels& kernels_;
  Tensor packed_;
  PackedPanels panels_;
  PixelLines lines_;
  int parts_;
  int64_t split_;  // 0: by the sizes, 1: pixels, 2: output channels
};

class ConvDirect1x1Tactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.direct1x1"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv)) return why;
    const ConvGeometry& g = conv.geometry;
    if (g.taps() != 1) return "the kernel is larger than 1x1";
    if (g.groups != 1) return "groups";
    if (g.pad_top || g.pad_left || g.pad_bottom || g.pad_right) return "padding";
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
    return {pack_conv_weights(panel_kernels(static_cast<Isa>(config.get("isa"))), conv_weights(problem), 1)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<Direct1x1Kernel>(problem, std::move(conv),
                                             panel_kernels(static_cast<Isa>(config.get("isa"))), packed[0],
                                             config.get("split"));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<ConvDirect1x1Tactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_conv_direct1x1_tactic
