// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: one channel in, one out. Bound by loads, so every input vector is used for all
// outputs near it.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/conv/depthwise_kernel.h"

namespace wootz {

extern const DepthwiseFunction depthwise_row_avx512;
extern const DepthwiseFunction depthwise_row_avx2;
extern const DepthwiseFunction depthwise_row_portable;

DepthwiseFunction depthwise_row(Isa isa) {
  if (!isa_available(isa))
    throw Error(ErrorKind::kDevice, "this processor lacks the instruction set of the chosen kernel");
  switch (isa) {
    case Isa::kAvx512: return depthwise_row_avx512;
    case Isa::kAvx2: return depthwise_row_avx2;
    default: return depthwise_row_portable;
  }
}

}  // namespace wootz

namespace wootz::cpu_conv_depthwise_tactic {
namespace {

int64_t padded_channels(int64_t channels) { return (channels + 15) / 16 * 16; }

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const Problem& problem, ConvProblem conv, Isa isa, Tensor packed)
      : conv_(std::move(conv)),
        row_(depthwise_row(isa)),
        packed_(std::move(packed)),
        zeros_(Tensor::zeros(DType::kFloat32, {padded_channels(conv_.geometry.channels)})) {
    const ConvGeometry& g = conv_.geometry;
    // Below some 20 us of work a fork does not pay.
    parts_ = g.pixels() * g.channels * g.taps() < 200'000 ? 1 : problem.threads;
    shape_.x_h = conv_.x.h, shape_.x_w = conv_.x.w;
    shape_.in_h = g.in_h, shape_.in_w = g.in_w, shape_.out_w = g.out_w;
    shape_.kernel_h = g.kernel_h, shape_.kernel_w = g.kernel_w;
    shape_.stride_h = g.stride_h, shape_.stride_w = g.stride_w;
    shape_.dilation_h = g.dilation_h, shape_.dilation_w = g.dilation_w;
    shape_.pad_top = g.pad_top, shape_.pad_left = g.pad_left;
    shape_.channels = g.channels;
    shape_.weights = packed_.as<float>();
    shape_.ld_weights = padded_channels(g.channels);
    shape_.zeros = zeros_.as<float>();
    shape_.pitch = conv_.y_pitch;
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const ConvGeometry& g = conv_.geometry;
    if (g.out_h == 1 && g.batch < parts_) return columns(args, x, y, epilogue);
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t lines = g.batch * g.out_h;
      for (int64_t line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
        run_line(x, y, epilogue, line, 0, g.out_w);
    });
  }

 private:
  /// A 1-D convolution: the parts share the columns.
  void columns(const LaunchArgs& args, const float* x, float* y, const Epilogue& epilogue) {
    pool_of(args)(parts_, [&](int part, int parts) {
      for (int64_t line = 0; line < conv_.geometry.batch; ++line)
        run_line(x, y, epilogue, line, conv_.geometry.out_w * part / parts,
                 conv_.geometry.out_w * (part + 1) / parts);
    });
  }

  void run_line(const float* x, float* y, const Epilogue& epilogue, int64_t line, int64_t ox0,
                int64_t ox1) const {
    const ConvGeometry& g = conv_.geometry;
    if (ox0 == ox1) return;
    const int64_t pixel = line * g.out_w + ox0;
    DepthwiseRow row = shape_;
    row.image = x + line / g.out_h * conv_.x.n;
    row.oy = line % g.out_h;
    // Columns from ox0 on are those of a convolution with less padding on the left.
    row.pad_left = g.pad_left - ox0 * g.stride_w;
    row.out_w = ox1 - ox0;
    row.bias = epilogue.bias;
    row.out = y + pixel * conv_.y_pitch;
    row.addend = epilogue.addend ? epilogue.addend + pixel * epilogue.ld_addend : nullptr;
    row.ld_addend = epilogue.ld_addend;
    row.low = epilogue.low;
    row.high = epilogue.high;
    row_(row);
    epilogue.apply(row.out, pixel, 0, ox1 - ox0, g.channels, conv_.y_pitch);
  }

  ConvProblem conv_;
  DepthwiseFunction row_;
  Tensor packed_, zeros_;
  DepthwiseRow shape_;
  int parts_;
};

class ConvDepthwiseTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.depthwise"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv)) return why;
    const ConvGeometry& g = conv.geometry;
    if (g.groups != g.channels || g.outputs != g.channels)
      return "not one group per channel with one output each";
    if (g.taps() > kMaxDepthwiseTaps) return "more than 128 taps";
    if (conv.x.c != 1) return "the input is not channels-last";
    if (g.pixels() == 0) return "an empty result";
    if (!problem.inputs[static_cast<size_t>(conv.w_input)].constant) return "the weights are not constant";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    const Tensor& w = conv_weights(problem);
    const int64_t channels = w.dims()[0], taps = w.size() / std::max<int64_t>(1, channels),
                  ld = padded_channels(channels);
    Tensor packed = Tensor::zeros(DType::kFloat32, {taps, ld});
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) packed.as<float>()[t * ld + c] = w.as<float>()[c * taps + t];
    return {packed};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<DepthwiseKernel>(problem, std::move(conv), static_cast<Isa>(config.get("isa")),
                                             packed[0]);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<ConvDepthwiseTactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_conv_depthwise_tactic
