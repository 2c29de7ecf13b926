// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 16-bit floats, and of float32 as TF32, with few rows on Hopper: K split over a
// cluster, splitk_sm90.cu.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz::cuda_gemm_splitk_tactic {
namespace {

constexpr int64_t kRowBytes = 128, kMostRows = 4096;
constexpr size_t kMost = 5, kMostWide = 3;  // ways to race with 64 and 128 features a block

class GemmSplitK final : public Tactic {
 public:
  explicit GemmSplitK(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.splitk_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    HopperOperands o;
    if (auto why = HopperOperands::read(target_, problem, o)) return why;
    if (o.is_batched()) return "a batch of matrices";
    if (o.rows() > kMostRows) return "more than " + std::to_string(kMostRows) + " rows";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    HopperOperands o;
    HopperOperands::read(target_, problem, o);
    std::vector<TacticConfig> list = best(o, 64, kMost);
    // Half the bytes a product, where rows are enough to fill as wide a tile.
    if (o.contraction().n > 64 && o.rows() > 32)
      for (TacticConfig& config : best(o, 128, kMostWide)) list.push_back(std::move(config));
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    HopperOperands o;
    HopperOperands::read(target_, problem, o);
    return o.pack(problem);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    HopperOperands o;
    if (auto why = HopperOperands::read(target_, problem, o))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Contraction& c = o.contraction();
    const int64_t bn = config.get("rows"), splits = config.get("splits"),
                  features = config.get("features", 64);
    const int64_t stage = (features + bn) * kRowBytes, blocks = (o.blocks_k() + splits - 1) / splits;
    // Half of a multiprocessor's memory, so that two blocks fit where there are more blocks than
    // multiprocessors.
    const int64_t room =
        blocks_of(o, features, bn, splits) > target_.multiprocessors ? 108 * 1024 : 220 * 1024;
    const int64_t stages = std::clamp<int64_t>(room / stage, 1, blocks);
    const TailSource tail(c, {});
    std::string constants = tail.text() + o.constants();
    const auto define = [&](const char* name, int64_t value) {
      constants += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("CLUSTER", 1), define("SPLITS", splits), define("STAGES", stages), define("BN", bn);
    define("FEATURES", features);
    constants += "#include \"gemm/sm90.cuh\"\n" + wgmma_source(bn, c.element);

    struct {
      int row_tiles, rows, rows_out, cols_out;
    } parameters{static_cast<int>((o.rows() + bn - 1) / bn), static_cast<int>(o.rows()),
                 static_cast<int>(c.conv.out_h), static_cast<int>(c.conv.out_w)};
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(blocks_of(o, features, bn, splits));
    geometry.block.x = static_cast<unsigned>(2 * features + 32);
    const int64_t partial = bn * (features + 4) * 4;
    geometry.shared_bytes = static_cast<size_t>(std::max(stages * stage, partial) + 16 * stages);
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("gemm/splitk_sm90.cu", constants), "splitk", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), o.a_map(bn));
    o.add_b(launch, packed, features);
    tail.add_parameters(launch.value(parameters));
    return kernel;
  }

 private:
  std::vector<TacticConfig> best(const HopperOperands& o, int64_t features, size_t most) const {
    std::vector<std::pair<double, TacticConfig>> rated;
    for (const int64_t splits : {1, 2, 4, 8})
      for (const int64_t rows : {8, 16, 24, 32, 40, 48, 56, 64, 80, 104, 128, 160, 200}) {
        if (splits > o.blocks_k() || rows >= (o.rows() + 7) / 8 * 8 + 8) continue;
        TacticConfig config{{{"rows", rows}, {"splits", splits}}};
        if (features != 64) config.values.emplace_back("features", features);
        rated.emplace_back(cost(o, features, rows, splits), std::move(config));
      }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<TacticConfig> list;
    for (size_t i = 0; i < std::min(most, rated.size()); ++i) list.push_back(std::move(rated[i].second));
    return list;
  }
  static int64_t blocks_of(const HopperOperands& o, int64_t features, int64_t bn, int64_t splits) {
    return (o.rows() + bn - 1) / bn * ((o.contraction().n + features - 1) / features) * splits;
  }
  /// Estimated clocks: the chain of one block, waves of blocks, and the sum over the cluster.
  double cost(const HopperOperands& o, int64_t features, int64_t bn, int64_t splits) const {
    const double blocks = double(blocks_of(o, features, bn, splits));
    const double steps = std::ceil(double(o.blocks_k()) / double(splits));
    const double busy = std::min(blocks, double(target_.multiprocessors));
    // The first bytes take a microsecond; then L2 feeds each multiprocessor, all of them at most 3,800 bytes
    // a clock.
    const double rate = std::min(64.0, 3800.0 / busy);
    // Two wide blocks on one multiprocessor share its port and its matrix unit. (So do narrow ones, but the
    // ways that won on a device were rated without.)
    const double shared = features > 64 ? std::min(2.0, std::ceil(blocks / target_.multiprocessors)) : 1.0;
    const double products = std::max(64.0 + 2.0 * double(bn), shared * double(features * bn) / 32);
    const double step = std::max(shared * double((features + bn) * kRowBytes) / rate, products);
    const double waves = std::ceil(blocks / (2.0 * target_.multiprocessors));
    const double epilogue = double(bn) / double(splits) * 12 + (splits > 1 ? 700 : 0);
    return waves * (1500 + steps * step + epilogue) + blocks * 2;
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmSplitK>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_gemm_splitk_tactic
