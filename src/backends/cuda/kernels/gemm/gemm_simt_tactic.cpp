// SPDX-License-Identifier: Apache-2.0
// Products and convolutions with float32 multiplications and sums on every GPU: float32 models exactly as
// stated, and 16-bit floats that the tensor cores of a card do not know.
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/tail_source.h"
#include "base/error.h"

namespace wootz::cuda_gemm_simt_tactic {
namespace {

class GemmSimt final : public Tactic {
 public:
  explicit GemmSimt(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.simt"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c)) return why;
    if (c.element != DType::kFloat32 && c.element != DType::kFloat16 && c.element != DType::kBFloat16)
      return "elements of type " + std::string(dtype_name(c.element)) + ", expected floats of 16 or 32 bits";
    if (auto why = Gather::refusal(problem, c)) return why;
    return TailSource::refusal(c);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Contraction c;
    Contraction::read(problem, c);
    const Gather gather(c, Gather::packs_b(problem, c), 1);
    const TacticConfig large{{{"m", 128}, {"n", 128}}}, tall{{{"m", 128}, {"n", 64}}},
        small{{{"m", 64}, {"n", 64}}};
    if (gather.columns() <= 64) return {small, tall};
    if (gather.problem(128, 128).blocks() < static_cast<unsigned>(target_.multiprocessors))
      return {small, tall, large};
    return {large, tall, small};
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Contraction c;
    Contraction::read(problem, c);
    if (!Gather::packs_b(problem, c)) return {};
    return {pack_columns(problem, c, 1)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const bool packs = Gather::packs_b(problem, c);
    const Gather gather(c, packs, 1);
    const TailSource tail(c, {});
    const int64_t m = config.get("m"), n = config.get("n");
    std::string constants = tail.text() + gather.constants();
    const auto define = [&](const char* name, int64_t value) {
      constants += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("BM", m), define("BN", n);
    define("A_ALONG_K", c.is_convolution ? c.conv.x_c == 1 && c.conv.channels > 4 : c.product.a_row != 1);
    define("B_ALONG_K", packs || c.product.b_n != 1);
    const GatherProblem parameters = gather.problem(m, n);
    CudaGeometry geometry;
    geometry.grid.x = parameters.blocks();
    geometry.block.x = 256;
    geometry.early_start = target_.arch.at_least(90);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("gemm/gemm_simt.cu", constants), "gemm", geometry);
    launch.input(static_cast<size_t>(c.a_input));
    if (packs)
      launch.constant(packed.at(0));
    else
      launch.input(static_cast<size_t>(c.b_input));
    tail.add_parameters(launch.value(parameters));
    return kernel;
  }

 private:
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmSimt>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_gemm_simt_tactic
