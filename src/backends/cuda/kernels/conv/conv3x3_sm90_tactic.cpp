// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions from 64 to 64 channels on Hopper: conv3x3_sm90.cu.
#include <algorithm>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/conv/image_maps.h"
#include "device/pooled_problem.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz::cuda_conv3x3_sm90_tactic {
namespace {

constexpr int64_t kChannels = 64, kRowBytes = 128;

/// Tiles of some rows, as wide as the image or an even part of it.
struct Halo {
  int64_t rows, parts, width;

  /// Pools want even sides.
  static Halo of(const ConvolutionShape& g, int64_t rows, int64_t parts, bool even) {
    const int64_t width = (g.in_w + parts - 1) / parts;
    return {rows, parts, even ? (width + 1) / 2 * 2 : width};
  }
  int64_t pitch() const { return width + 2; }
  int64_t tiles(const ConvolutionShape& g) const { return parts * ((g.in_h + rows - 1) / rows); }
  int64_t positions() const { return (rows * pitch() - 2 + 7) / 8 * 8; }  // the matrix unit's wide side
  size_t shared_bytes() const {
    const auto kilobytes = [](int64_t bytes) { return (bytes + 1023) / 1024 * 1024; };
    return static_cast<size_t>(9 * kChannels * kRowBytes +
                               2 * kilobytes((rows + 2) * pitch() * kRowBytes + 256) +
                               2 * kilobytes(positions() * kRowBytes) + 64);
  }
};

/// The convolution, and the pool behind it where there is one.
struct Conv3x3Operands : HopperOperands {
  std::optional<TensorDesc> pooled;

  static std::optional<std::string> read(const CudaTarget& target, const Problem& problem,
                                         Conv3x3Operands& o) {
    PooledProblem p;
    const bool is_plain = PooledProblem::make(problem, p).has_value();
    if (!is_plain && p.window != 2) return "a pool of 3x3";
    if (!is_plain) o.pooled = p.result;
    if (auto why = HopperOperands::read(target, is_plain ? problem : p.plain, o)) return why;
    return o.is_tf32() ? std::optional<std::string>("float32") : std::nullopt;
  }
  bool has_aligned_pixels() const {
    const Dims& s = pooled->strides;
    return s[1] == 1 && s[0] % 8 == 0 && s[2] % 8 == 0 && s[3] % 8 == 0;
  }
};

class Conv3x3Sm90 final : public Tactic {
 public:
  explicit Conv3x3Sm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.conv.halo3x3_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Conv3x3Operands o;
    if (auto why = Conv3x3Operands::read(target_, problem, o)) return why;
    const Contraction& c = o.contraction();
    const ConvolutionShape& g = c.conv;
    if (!o.is_im2col() || g.channels != kChannels || c.n != kChannels || g.kernel_h != 3 || g.kernel_w != 3 ||
        g.stride_h != 1 || g.stride_w != 1 || g.dilation_h != 1 || g.dilation_w != 1 || g.pad_top != 1 ||
        g.pad_left != 1 || g.pad_bottom != 1 || g.pad_right != 1)
      return "not a 3x3 convolution of stride 1 from 64 to 64 channels";
    if (auto why = TailSource::column_refusal(c)) return why;
    if (o.pooled) {
      if (c.result != c.element || !o.has_aligned_pixels())
        return "pixels of the pool's result are not on 16 bytes";
    } else if (auto why = result_image_refusal(problem, c)) {
      return why;
    }
    if (ways(o).empty()) return "rows of " + std::to_string(g.in_w) + " pixels do not fit";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Conv3x3Operands o;
    Conv3x3Operands::read(target_, problem, o);
    std::vector<TacticConfig> list;
    for (const Halo& halo : ways(o)) list.push_back({{{"rows", halo.rows}, {"parts", halo.parts}}});
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Conv3x3Operands o;
    Conv3x3Operands::read(target_, problem, o);
    return o.pack(problem);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Conv3x3Operands o;
    if (auto why = Conv3x3Operands::read(target_, problem, o))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Contraction& c = o.contraction();
    const ConvolutionShape& g = c.conv;
    const Halo halo = Halo::of(g, config.get("rows"), config.get("parts", 1), o.pooled.has_value());
    const TailSource tail(c, {});
    std::string text = tail.text();
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("CLUSTER", 1), define("WIDTH", halo.width), define("PARTS", halo.parts);
    define("ROWS", halo.rows), define("BN", halo.positions());
    define("POOL", o.pooled.has_value());
    if (o.pooled) {
      define("IN_H", g.in_h), define("IN_W", g.in_w);
      define("POOLED_H", o.pooled->dims[2]), define("POOLED_W", o.pooled->dims[3]);
      define("POOLED_N_STEP", o.pooled->strides[0]), define("POOLED_H_STEP", o.pooled->strides[2]);
      define("POOLED_W_STEP", o.pooled->strides[3]);
    }
    text += "#include \"gemm/sm90.cuh\"\n" + wgmma_source(halo.positions(), c.element);
    struct {
      int tiles, tiles_per_image;
    } parameters{};
    parameters.tiles_per_image = static_cast<int>(halo.tiles(g));
    parameters.tiles = parameters.tiles_per_image * static_cast<int>(g.batch);
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(std::min(parameters.tiles, target_.multiprocessors));
    geometry.block.x = 384;
    geometry.shared_bytes = halo.shared_bytes();
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("conv/conv3x3_sm90.cu", text), "conv3x3", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), image_map(c, halo.rows + 2, halo.pitch(), kChannels));
    launch.map_constant(packed.at(0), o.b_map(kChannels, packed));
    if (o.pooled)
      launch.map_constant(packed.at(0), o.b_map(kChannels, packed));  // results leave without a map
    else
      launch.map_output(0, halo.parts == 1 ? result_image_map(problem, c, halo.rows, halo.pitch(), kChannels)
                                           : result_image_map(problem, c, 1, halo.width, kChannels));
    tail.add_parameters(launch.value(parameters));
    return kernel;
  }

 private:
  /// Best guess first: most pixels for the positions that are computed and loaded, where there are tiles
  /// enough for every multiprocessor.
  std::vector<Halo> ways(const Conv3x3Operands& o) const {
    const ConvolutionShape& g = o.contraction().conv;
    std::vector<std::pair<double, Halo>> rated;
    for (int64_t parts = 1; parts <= (g.in_w + 15) / 16; ++parts)
      for (int64_t rows : {4, 2, 1, 8}) {
        const Halo halo = Halo::of(g, rows, parts, o.pooled.has_value());
        if (o.pooled && rows % 2 != 0) continue;
        if ((parts - 1) * halo.width >= g.in_w || halo.positions() > 256 || halo.positions() < 8 ||
            halo.pitch() > 256 || (rows > g.in_h && rows > 2) ||
            halo.shared_bytes() > target_.shared_bytes_per_block)
          continue;
        const int64_t tiles = g.batch * halo.tiles(g), pixels = g.in_h * g.in_w * g.batch;
        const int64_t waves = (tiles + target_.multiprocessors - 1) / target_.multiprocessors;
        // A tile's products, a quarter of the time its copies take, and what waits between tiles.
        const double tile = double(halo.positions()) + double((rows + 2) * halo.pitch()) / 4 + 12;
        rated.emplace_back(double(waves) * tile / double(pixels), halo);
      }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Halo> list;
    for (size_t i = 0; i < std::min<size_t>(rated.size(), 5); ++i) list.push_back(rated[i].second);
    return list;
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<Conv3x3Sm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_conv3x3_sm90_tactic
