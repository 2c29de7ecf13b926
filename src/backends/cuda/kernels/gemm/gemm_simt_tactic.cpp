// SPDX-License-Identifier: Apache-2.0
// Products and convolutions with float32 multiplications and sums on every GPU: float32 models exactly as
// stated, and 16-bit floats that the tensor cores of a card do not know.
#include <algorithm>
#include <cmath>

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
    std::vector<Way> ways = {{128, 128}, {128, 64}, {64, 64}};
    if (gather.columns() <= 64) ways.erase(ways.begin());
    for (size_t i = 0, tiles = ways.size(); i < tiles; ++i)
      if (const int64_t splits = splits_to_fill(gather, ways[i]); splits > 1)
        ways.push_back({ways[i].m, ways[i].n, splits});
    std::stable_sort(ways.begin(), ways.end(),
                     [&](const Way& x, const Way& y) { return cost(gather, x) < cost(gather, y); });
    std::vector<TacticConfig> list;
    for (const Way& w : ways) list.push_back({{{"m", w.m}, {"n", w.n}, {"splits", w.splits}}});
    return list;
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
    const Way way{config.get("m"), config.get("n"), std::min(config.get("splits", 1), steps_of(gather))};
    const bool a_along_k = c.is_convolution ? c.conv.x_c == 1 && c.conv.channels > 4 : c.product.a_row != 1;
    const bool b_along_k = packs || c.product.b_n != 1;
    std::string constants = tail.text() + gather.constants();
    const auto define = [&](const char* name, int64_t value) {
      constants += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("BM", way.m), define("BN", way.n), define("SPLITS", way.splits);
    define("A_ALONG_K", a_along_k), define("A_VECTORS", a_along_k && has_vectors(gather.a_mode()));
    define("B_ALONG_K", b_along_k), define("B_VECTORS", b_along_k && has_vectors(gather.b_mode()));
    const GatherProblem parameters = gather.problem(way.m, way.n);
    const cuda::Source source = make_cuda_source("gemm/gemm_simt.cu", constants);
    CudaGeometry geometry;
    geometry.grid.x = parameters.blocks() * static_cast<unsigned>(way.splits);
    geometry.block.x = 256;
    geometry.early_start = target_.arch.at_least(90);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(source, "gemm", geometry);
    launch.input(static_cast<size_t>(c.a_input));
    if (packs)
      launch.constant(packed.at(0));
    else
      launch.input(static_cast<size_t>(c.b_input));
    if (way.splits == 1) {
      tail.add_parameters(launch.null().value(parameters));
      return kernel;
    }
    tail.add_parameters(launch.workspace().value(parameters));
    const int64_t lines = static_cast<int64_t>(parameters.rows) * parameters.matrices,
                  columns = gather.columns();
    kernel->set_workspace(static_cast<size_t>(way.splits * lines * columns) * sizeof(float));
    geometry.grid.x = static_cast<unsigned>((lines * (columns % 4 == 0 ? columns / 4 : columns) + 255) / 256);
    tail.add_parameters(kernel->add(source, "add_parts", geometry).workspace().value(parameters));
    return kernel;
  }

 private:
  /// A tile, and the blocks that share its sums.
  struct Way {
    int64_t m, n, splits = 1;
  };
  static constexpr int64_t kStepK = 16, kFewestSteps = 8, kMostSplits = 16;  // of gemm_simt.cu; a split's

  static bool has_vectors(const ReadMode& mode) { return mode.kind == ReadMode::kAlongK && mode.vector >= 4; }
  static int64_t steps_of(const Gather& gather) { return (gather.k() + kStepK - 1) / kStepK; }
  /// As many as two blocks a multiprocessor take; 1 where the tiles are enough.
  int64_t splits_to_fill(const Gather& gather, const Way& way) const {
    const int64_t blocks = gather.problem(way.m, way.n).blocks();
    return std::min({2 * target_.multiprocessors / blocks, steps_of(gather) / kFewestSteps, kMostSplits});
  }
  /// Relative: waves of blocks, two a multiprocessor; small tiles wait for shared memory more often; parts
  /// are written and read.
  double cost(const Gather& gather, const Way& way) const {
    const GatherProblem p = gather.problem(way.m, way.n);
    const double waves = std::ceil(double(p.blocks()) * double(way.splits) / (2.0 * target_.multiprocessors));
    const double step = double(way.m * way.n) + 40.0 * double(way.m + way.n);
    const double parts =
        way.splits == 1
            ? 0
            : 0.2 * double(way.splits) * double(p.rows) * double(p.matrices) * double(gather.columns()) + 6e5;
    return waves * std::ceil(double(steps_of(gather)) / double(way.splits)) * kStepK * step + parts;
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmSimt>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_gemm_simt_tactic
