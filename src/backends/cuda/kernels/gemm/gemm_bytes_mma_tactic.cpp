// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit integers by mma.sync, sm_75 and newer: gemm_mma.cu with bytes along k.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/tail_source.h"
#include "base/error.h"

namespace wootz::cuda_gemm_bytes_mma_tactic {
namespace {

constexpr int64_t kRun = 16;  // elements of a copy

struct Tiling {
  int64_t m, n, warps_m, warps_n;
};
constexpr Tiling kTilings[] = {{128, 128, 4, 2}, {128, 64, 4, 2}, {64, 128, 2, 2},
                               {64, 64, 2, 2},   {32, 64, 1, 4},  {16, 64, 1, 4}};

class GemmBytesMma final : public Tactic {
 public:
  explicit GemmBytesMma(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.bytes_mma"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    return read(problem, c);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Contraction c;
    read(problem, c);
    const Gather gather(c, true, kRun);
    std::vector<std::pair<double, TacticConfig>> rated;
    for (const Tiling& t : kTilings) {
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
    read(problem, c);
    Packed packed{pack_columns(problem, c, kRun)};
    if (c.a_zero != 0) packed.push_back(zero_point_sums(problem, c));
    return packed;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Contraction c;
    if (auto why = read(problem, c)) throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Gather gather(c, true, kRun);
    const TailSource tail(c, {});
    const int64_t m = config.get("m"), n = config.get("n"), stages = config.get("stages");
    std::string constants = tail.text() + gather.constants();
    define(constants, "BM", m), define(constants, "BN", n), define(constants, "STAGES", stages);
    define(constants, "WARPS_M", config.get("warps_m")), define(constants, "WARPS_N", config.get("warps_n"));
    define(constants, "A_MODE", aligned(c) ? ReadMode::kAlongK : ReadMode::kElements);
    define(constants, "A_VEC", kRun), define(constants, "B_MODE", ReadMode::kAlongK);
    define(constants, "B_VEC", kRun), define(constants, "BYTES", 1);
    define(constants, "B_SIGNED", c.b_element == DType::kInt8);
    const GatherProblem parameters = gather.problem(m, n);
    CudaGeometry geometry;
    geometry.grid.x = parameters.blocks();
    geometry.block.x = static_cast<unsigned>(32 * config.get("warps_m") * config.get("warps_n"));
    geometry.shared_bytes = static_cast<size_t>((m + n) * 64 * stages);
    geometry.early_start = target_.arch.at_least(90);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("gemm/gemm_mma.cu", constants), "gemm", geometry);
    launch.input(static_cast<size_t>(c.a_input)).constant(packed.at(0));
    if (packed.size() > 1)
      launch.constant(packed.at(1));
    else
      launch.null();
    tail.add_parameters(launch.value(parameters));
    return kernel;
  }

 private:
  static std::optional<std::string> read(const Problem& problem, Contraction& c) {
    if (auto why = Contraction::read_integers(problem, c)) return why;
    if (!Gather::packs_b(problem, c)) return "weights that are not constant";
    if (auto why = Gather::refusal(problem, c)) return why;
    const ConvolutionShape& g = c.conv;
    const bool padded = g.pad_top > 0 || g.pad_left > 0 || g.pad_bottom > 0 || g.pad_right > 0;
    if (c.is_convolution && padded && c.a_zero != 0) return "padding with a zero point, where copies bring 0";
    return TailSource::refusal(c);
  }

  /// Whether runs of A are neighbours on multiples of 16 bytes.
  static bool aligned(const Contraction& c) {
    const auto whole = [](int64_t x) { return x % kRun == 0; };
    const ConvolutionShape& g = c.conv;
    if (c.is_convolution)
      return g.x_c == 1 && whole(g.x_n) && whole(g.x_h) && whole(g.x_w) &&
             (g.groups == 1 || whole(g.group_channels()));
    const ProductShape& p = c.product;
    return p.a_k == 1 && whole(p.a_row) && std::all_of(p.a_batch.begin(), p.a_batch.end(), whole);
  }

  /// As gemm_mma_tactic.cpp has it, of twice the products a clock.
  double cost(const Contraction& c, const Gather& gather, const Tiling& t) const {
    const GatherProblem p = gather.problem(t.m, t.n);
    const double waves = std::ceil(double(p.blocks()) / (2.0 * target_.multiprocessors));
    const double area = double(t.m * t.n), edge = double(t.m + t.n);
    return waves * (double(c.k) * (area + 48 * edge) / 2 + 32 * area);
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmBytesMma>(tactics.target()), CudaTactics::kGeneral);
}

}  // namespace wootz::cuda_gemm_bytes_mma_tactic
