// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions from 64 to 64 channels on Hopper: conv3x3_sm90.cu.
#include <algorithm>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/conv/image_maps.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz {
namespace {

constexpr int64_t kChannels = 64, kRowBytes = 128;

struct Halo {
  int64_t rows, pitch;
  int64_t positions() const { return (rows * pitch - 2 + 7) / 8 * 8; }  // the matrix unit's wide side
  size_t shared_bytes() const {
    const auto kilobytes = [](int64_t bytes) { return (bytes + 1023) / 1024 * 1024; };
    return static_cast<size_t>(9 * kChannels * kRowBytes +
                               2 * kilobytes((rows + 2) * pitch * kRowBytes + 256) +
                               2 * kilobytes(positions() * kRowBytes) + 64);
  }
};

class Conv3x3Sm90 final : public Tactic {
 public:
  explicit Conv3x3Sm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.conv.halo3x3_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    HopperOperands o;
    if (auto why = HopperOperands::read(target_, problem, o)) return why;
    const Contraction& c = o.contraction();
    const ConvolutionShape& g = c.conv;
    if (!o.is_im2col() || g.channels != kChannels || c.n != kChannels || g.kernel_h != 3 || g.kernel_w != 3 ||
        g.stride_h != 1 || g.stride_w != 1 || g.dilation_h != 1 || g.dilation_w != 1 || g.pad_top != 1 ||
        g.pad_left != 1 || g.pad_bottom != 1 || g.pad_right != 1)
      return "not a 3x3 convolution of stride 1 from 64 to 64 channels";
    if (auto why = TailSource::column_refusal(c)) return why;
    if (auto why = result_image_refusal(problem, c)) return why;
    if (ways(g).empty()) return "rows of " + std::to_string(g.in_w) + " pixels do not fit";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    HopperOperands o;
    HopperOperands::read(target_, problem, o);
    std::vector<TacticConfig> list;
    for (int64_t rows : ways(o.contraction().conv)) list.push_back({{{"rows", rows}}});
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
    const ConvolutionShape& g = c.conv;
    const Halo halo{config.get("rows"), g.in_w + 2};
    const TailSource tail(c, {});
    std::string text = tail.text();
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("CLUSTER", 1), define("WIDTH", g.in_w), define("ROWS", halo.rows), define("BN", halo.positions());
    text += "#include \"gemm/sm90.cuh\"\n" + wgmma_source(halo.positions(), c.element);
    struct {
      int tiles, tiles_per_image;
    } parameters{};
    parameters.tiles_per_image = static_cast<int>((g.in_h + halo.rows - 1) / halo.rows);
    parameters.tiles = parameters.tiles_per_image * static_cast<int>(g.batch);
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(std::min(parameters.tiles, target_.multiprocessors));
    geometry.block.x = 384;
    geometry.shared_bytes = halo.shared_bytes();
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch = kernel->add(make_cuda_source("conv/conv3x3_sm90.cu", text), "conv3x3", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), image_map(c, halo.rows + 2, halo.pitch, kChannels));
    launch.map_constant(packed.at(0), o.b_map(kChannels));
    launch.map_output(0, result_image_map(problem, c, halo.rows, halo.pitch, kChannels));
    tail.add_parameters(launch.value(parameters));
    return kernel;
  }

 private:
  /// Rows a tile, best guess first: as many as fit where there are tiles enough for every multiprocessor.
  std::vector<int64_t> ways(const ConvolutionShape& g) const {
    std::vector<int64_t> list;
    for (int64_t rows : {4, 2, 1, 8}) {
      const Halo halo{rows, g.in_w + 2};
      if (halo.positions() > 256 || halo.positions() < 8 || halo.pitch > 256 ||
          halo.shared_bytes() > target_.shared_bytes_per_block || rows > g.in_h)
        continue;
      const int64_t tiles = g.batch * ((g.in_h + rows - 1) / rows);
      list.insert(tiles >= target_.multiprocessors / 2 ? list.begin() + (list.empty() ? 0 : 1) : list.begin(),
                  rows);
    }
    return list;
  }
  CudaTarget target_;
};

}  // namespace

void register_cuda_conv3x3_sm90_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<Conv3x3Sm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz
