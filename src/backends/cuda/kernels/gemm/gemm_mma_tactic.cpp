// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 16-bit floats by mma.sync: any size, strides and alignment, sm_75 and newer.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/tail_source.h"
#include "base/error.h"

namespace wootz::cuda_gemm_mma_tactic {
namespace {

constexpr int64_t kChannelMultiple = 8;   // a sixteen-byte copy
constexpr int64_t kFewestAlongRows = 64;  // rows (columns) of a tile that is read along them

/// A tile and the warps that share it.
struct Tiling {
  int64_t m, n, warps_m, warps_n;
};
constexpr Tiling kTilings[] = {{128, 128, 4, 2}, {128, 64, 4, 2}, {64, 128, 2, 2}, {64, 64, 2, 2},
                               {32, 64, 1, 4},   {16, 64, 1, 4},  {128, 32, 4, 1}, {16, 128, 1, 4}};

class GemmMma final : public Tactic {
 public:
  explicit GemmMma(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.mma"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c)) return why;
    if (c.element == DType::kBFloat16 && !target_.arch.at_least(80))
      return "bfloat16 has no tensor cores before sm_80";
    if (c.element != DType::kFloat16 && c.element != DType::kBFloat16)
      return "elements of type " + std::string(dtype_name(c.element)) + ", expected 16-bit floats";
    if (auto why = Gather::refusal(problem, c)) return why;
    return TailSource::refusal(c);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Contraction c;
    Contraction::read(problem, c);
    const Gather gather(c, Gather::packs_b(problem, c), kChannelMultiple);
    std::vector<std::pair<double, TacticConfig>> rated;
    for (const Tiling& t : kTilings) {
      if (t.m < kFewestAlongRows && gather.a_mode().kind == ReadMode::kAlongRows) continue;
      if (t.n < kFewestAlongRows && gather.b_mode().kind == ReadMode::kAlongRows) continue;
      if ((t.m > 64 && c.matrix_rows() <= t.m / 2) || (t.n > 64 && gather.columns() <= t.n / 2)) continue;
      rated.emplace_back(cost(c, gather, t), TacticConfig{{{"m", t.m},
                                                           {"n", t.n},
                                                           {"warps_m", t.warps_m},
                                                           {"warps_n", t.warps_n},
                                                           {"stages", target_.arch.at_least(80) ? 4 : 2}}});
    }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    constexpr size_t kMost = 4;
    std::vector<TacticConfig> list;
    for (size_t i = 0; i < std::min(kMost, rated.size()); ++i) list.push_back(rated[i].second);
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Contraction c;
    Contraction::read(problem, c);
    if (!Gather::packs_b(problem, c)) return {};
    return {pack_columns(problem, c, kChannelMultiple)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Contraction c;
    if (auto why = Contraction::read(problem, c))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const bool packs = Gather::packs_b(problem, c);
    const Gather gather(c, packs, kChannelMultiple);
    const TailSource tail(c, {});
    const int64_t m = config.get("m"), n = config.get("n"), stages = config.get("stages");
    const ReadMode a = mode_for(gather.a_mode(), m), b = mode_for(gather.b_mode(), n);
    std::string constants = tail.text() + gather.constants();
    const auto define = [&](const char* name, int64_t value) {
      constants += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("BM", m), define("BN", n), define("STAGES", stages), define("BYTES", 0);
    define("WARPS_M", config.get("warps_m")), define("WARPS_N", config.get("warps_n"));
    define("A_MODE", a.kind), define("A_VEC", a.vector), define("B_MODE", b.kind), define("B_VEC", b.vector);

    const GatherProblem parameters = gather.problem(m, n);
    CudaGeometry geometry;
    geometry.grid.x = parameters.blocks();
    geometry.block.x = static_cast<unsigned>(32 * config.get("warps_m") * config.get("warps_n"));
    geometry.shared_bytes = static_cast<size_t>((m + n) * 64 * stages);
    geometry.early_start = target_.arch.at_least(90);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("gemm/gemm_mma.cu", constants), "gemm", geometry);
    launch.input(static_cast<size_t>(c.a_input));
    if (packs)
      launch.constant(packed.at(0));
    else
      launch.input(static_cast<size_t>(c.b_input));
    tail.add_parameters(launch.null().value(parameters));  // no zero points
    return kernel;
  }

 private:
  /// A small tile was chosen at another shape, where neighbours lay along k or nowhere.
  static ReadMode mode_for(ReadMode mode, int64_t tile) {
    return mode.kind == ReadMode::kAlongRows && tile < kFewestAlongRows ? ReadMode{} : mode;
  }
  /// Waves of blocks times the time of a tile, relative; small tiles reach less of the tensor cores.
  double cost(const Contraction& c, const Gather& gather, const Tiling& t) const {
    const GatherProblem p = gather.problem(t.m, t.n);
    const double per_wave = 2.0 * target_.multiprocessors;  // two blocks fit a multiprocessor
    const double waves = std::ceil(double(p.blocks()) / per_wave);
    const double area = double(t.m * t.n), edge = double(t.m + t.n);
    return waves * (double(c.k) * (area + 48 * edge) + 32 * area);
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmMma>(tactics.target()), CudaTactics::kGeneral);
}

}  // namespace wootz::cuda_gemm_mma_tactic
