// SPDX-License-Identifier: Apache-2.0
// Any convolution of floats, one result a thread: conv_direct.cu.
#include <cstring>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/tail_source.h"
#include "base/error.h"

namespace wootz::cuda_conv_direct_tactic {
namespace {

class ConvDirect final : public Tactic {
 public:
  explicit ConvDirect(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.conv.direct"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c)) return why;
    if (!c.is_convolution) return "not a convolution";
    if (c.element != DType::kFloat32 && c.element != DType::kFloat16 && c.element != DType::kBFloat16)
      return "elements of type " + std::string(dtype_name(c.element)) + ", expected floats of 16 or 32 bits";
    // Products with many channels belong to the kernels that share them between threads.
    if (Gather::packs_b(problem, c) && c.conv.group_channels() > 16 && c.n / c.conv.groups > 16)
      return "more than 16 channels a group";
    if (!Gather::packs_b(problem, c) && !problem.inputs[static_cast<size_t>(c.b_input)].is_row_major())
      return "weights that are a strided view";
    if (c.rows() * c.n > (int64_t{1} << 38)) return "too many results";
    return TailSource::refusal(c);
  }

  /// [tap][channel of the group][output channel], so that neighbouring threads read neighbours.
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Contraction c;
    Contraction::read(problem, c);
    if (!Gather::packs_b(problem, c)) return {};
    const Tensor& w = *problem.inputs[static_cast<size_t>(c.b_input)].constant;
    const int64_t channels = c.conv.group_channels(), taps = c.conv.taps();
    const size_t bytes = dtype_size(c.element);
    Tensor packed = Tensor::zeros(c.element, {taps, channels, c.n});
    for (int64_t n = 0; n < c.n; ++n)
      for (int64_t i = 0; i < channels; ++i)
        for (int64_t t = 0; t < taps; ++t)
          std::memcpy(
              packed.as<char>() + static_cast<size_t>((t * channels + i) * c.n + n) * bytes,
              static_cast<const char*>(w.data()) + static_cast<size_t>((n * channels + i) * taps + t) * bytes,
              bytes);
    return {packed};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const ConvolutionShape& g = c.conv;
    const bool packs = !packed.empty();
    const TailSource tail(c, {});
    const std::string text = tail.text() + Gather(c, packs, 1).constants();
    struct {
      int64_t results;
      int in_h, in_w, out_h, out_w;
      int64_t x_n, x_c, x_h, x_w, w_n, w_c, w_tap;
    } p{};
    p.results = c.rows() * c.n;
    p.in_h = static_cast<int>(g.in_h), p.in_w = static_cast<int>(g.in_w);
    p.out_h = static_cast<int>(g.out_h), p.out_w = static_cast<int>(g.out_w);
    p.x_n = g.x_n, p.x_c = g.x_c, p.x_h = g.x_h, p.x_w = g.x_w;
    if (packs)
      p.w_n = 1, p.w_c = c.n, p.w_tap = c.n * g.group_channels();
    else
      p.w_n = g.group_channels() * g.taps(), p.w_c = g.taps(), p.w_tap = 1;
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>((p.results + 255) / 256);
    geometry.block.x = 256;
    geometry.early_start = target_.arch.at_least(90);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("conv/conv_direct.cu", text), "conv_direct", geometry);
    launch.input(static_cast<size_t>(c.a_input));
    if (packs)
      launch.constant(packed.at(0));
    else
      launch.input(static_cast<size_t>(c.b_input));
    tail.add_parameters(launch.value(p));
    return kernel;
  }

 private:
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<ConvDirect>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_conv_direct_tactic
