// SPDX-License-Identifier: Apache-2.0
// First layers of networks on Hopper: a few channels, any layout, to at most 64. stem_prepare.cu, then
// stem_sm90.cu or, with a pool of 3x3 behind it, stem_pool_sm90.cu.
#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/conv/first_layer.h"
#include "backends/cuda/kernels/conv/image_maps.h"
#include "device/pooled_problem.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz::cuda_stem_sm90_tactic {
namespace {

constexpr int64_t kFeatures = 64, kRowBytes = 128, kUnitBytes = 16;

/// How an image is laid out for the kernel, in units of 16 bytes.
struct StemPlan {
  int64_t pixels, channels;  // of a unit
  int64_t taps;              // units that cover a row of the filter, even
  int64_t rows, parts, bn;   // output rows a tile, tiles a row, pixels of one as the matrix unit counts them
  int64_t row_blocks;        // of an image
  int64_t units, padded_h;   // of an image's row; rows of an image
  int64_t stages;
  size_t shared_bytes;

  int64_t tiles_per_image() const { return row_blocks * parts; }
  int64_t steps(const ConvolutionShape& g) const { return g.kernel_h * taps / 2; }
  int64_t stage_bytes(const ConvolutionShape& g) const {
    return (((rows - 1) * g.stride_h + g.kernel_h) * (bn + taps - 1) * kUnitBytes + 127) / 128 * 128;
  }
};

/// The first layer, and the result of the pool behind it where there is one.
struct Stem {
  FirstLayer layer;
  std::optional<TensorDesc> pooled;

  static std::optional<std::string> read(const Problem& problem, Stem& stem) {
    PooledProblem p;
    if (PooledProblem::make(problem, p)) return FirstLayer::read(problem, stem.layer);
    if (p.window != 3) return "a pool of 2x2";
    stem.pooled = p.result;
    return FirstLayer::read(p.plain, stem.layer);
  }
};

/// With a pool, `rows` are those of its result, and a tile holds the input of all that they cover.
std::optional<StemPlan> plan_pooled(const ConvolutionShape& g, size_t shared_bytes, int64_t rows) {
  StemPlan p{};
  p.pixels = g.stride_w, p.channels = 8 / p.pixels;
  p.taps = ((g.kernel_w + p.pixels - 1) / p.pixels + 1) / 2 * 2;
  p.rows = rows, p.parts = 1, p.bn = (g.out_w + 7) / 8 * 8;
  if (p.bn > 256) return std::nullopt;
  p.row_blocks = ((g.out_h + 1) / 2 + rows - 1) / rows;
  p.units = p.bn + p.taps - 1;
  p.padded_h = (g.out_h - 1) * g.stride_h + g.kernel_h;
  const int64_t result = (p.bn / 2 * kRowBytes + 1023) / 1024 * 1024;
  const int64_t stage = ((2 * rows * g.stride_h + g.kernel_h) * p.units * kUnitBytes + 127) / 128 * 128;
  p.stages = 2;
  p.shared_bytes = static_cast<size_t>(2 * result + p.steps(g) * 2048 + 2 * stage + 64);
  if (p.shared_bytes > shared_bytes) return std::nullopt;
  return p;
}

std::optional<StemPlan> plan_stem(const Stem& stem, size_t shared_bytes, int64_t rows) {
  const ConvolutionShape& g = stem.layer.c.conv;
  if (stem.pooled) return plan_pooled(g, shared_bytes, rows);
  StemPlan p{};
  p.pixels = g.stride_w, p.channels = 8 / p.pixels;
  p.taps = ((g.kernel_w + p.pixels - 1) / p.pixels + 1) / 2 * 2;
  p.rows = rows;
  do {
    ++p.parts;
    p.bn = ((g.out_w + p.parts - 1) / p.parts + 7) / 8 * 8;
  } while (p.bn > 256 || rows * p.bn > 352);  // registers for the sums
  p.row_blocks = (g.out_h + rows - 1) / rows;
  p.units = p.parts * p.bn + p.taps - 1;
  p.padded_h = (p.row_blocks * rows - 1) * g.stride_h + g.kernel_h;
  const int64_t fixed = 2 * rows * p.bn * kRowBytes + p.steps(g) * 2048 + 64;
  const int64_t stage = p.stage_bytes(g) + 16;
  p.stages = std::min<int64_t>((static_cast<int64_t>(shared_bytes) - fixed) / stage, 6) / 2 * 2;
  if (p.stages < 2) return std::nullopt;
  p.shared_bytes = static_cast<size_t>(fixed + p.stages * stage);
  return p;
}

class StemSm90 final : public Tactic {
 public:
  explicit StemSm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.conv.stem_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    if (!target_.arch.has_wgmma()) return "wgmma is there on sm_90a only";
    Stem stem;
    if (auto why = Stem::read(problem, stem)) return why;
    const Contraction& c = stem.layer.c;
    const ConvolutionShape& g = c.conv;
    if (g.groups != 1 || g.dilation_h != 1 || g.dilation_w != 1) return "groups or dilation";
    if (g.stride_w != 1 && g.stride_w != 2) return "a stride other than 1 or 2 along a row";
    if (g.channels > 8 / g.stride_w) return "more than " + std::to_string(8 / g.stride_w) + " channels";
    if (c.n > kFeatures || g.out_w < 8) return "more than 64 output channels, or rows of less than 8 pixels";
    if (auto why = TailSource::column_refusal(c)) return why;
    if (stem.pooled) {
      const Dims& s = stem.pooled->strides;
      if (c.result != c.element || s[1] != 1 || s[0] % 8 != 0 || s[2] % 8 != 0 || s[3] % 8 != 0)
        return "pixels of the pool's result are not on 16 bytes";
    } else if (auto why = result_image_refusal(problem, c)) {
      return why;
    }
    if (g.kernel_h > 16 || g.kernel_w > 16) return "a filter of more than 16 taps a side";
    if (!plan_stem(stem, target_.shared_bytes_per_block, 1))
      return "rows of " + std::to_string(g.in_w) + " pixels do not fit";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Stem stem;
    Stem::read(problem, stem);
    const Contraction& c = stem.layer.c;
    std::vector<TacticConfig> list;
    if (stem.pooled) {
      for (int64_t rows : {4, 8, 2, 1})
        if (plan_stem(stem, target_.shared_bytes_per_block, rows)) list.push_back({{{"rows", rows}}});
      return list;
    }
    for (int64_t rows : {2, 1})
      if (rows <= c.conv.out_h && plan_stem(stem, target_.shared_bytes_per_block, rows))
        list.push_back({{{"rows", rows}}});
    const bool few_tiles = c.conv.batch * c.conv.out_h < 2 * target_.multiprocessors;
    if (few_tiles) std::reverse(list.begin(), list.end());
    return list;
  }

  /// [steps of K][2][64 features][8], K = rows of the filter x taps x channels of a unit.
  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    Stem stem;
    Stem::read(problem, stem);
    const Contraction& c = stem.layer.c;
    const ConvolutionShape& g = c.conv;
    const StemPlan p = *plan_stem(stem, target_.shared_bytes_per_block, config.get("rows"));
    const Tensor& w = *problem.inputs[static_cast<size_t>(c.b_input)].constant;
    Tensor packed = Tensor::zeros(c.element, {p.steps(g), 2, kFeatures, 8});
    const auto* from = w.as<uint16_t>();
    auto* to = packed.as<uint16_t>();
    for (int64_t n = 0; n < c.n; ++n)
      for (int64_t ch = 0; ch < g.channels; ++ch)
        for (int64_t r = 0; r < g.kernel_h; ++r)
          for (int64_t s = 0; s < g.kernel_w; ++s) {
            const int64_t unit = r * p.taps + s / p.pixels, inner = s % p.pixels * p.channels + ch;
            to[(unit * kFeatures + n) * 8 + inner] =
                from[((n * g.channels + ch) * g.kernel_h + r) * g.kernel_w + s];
          }
    return {packed};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Stem stem;
    if (auto why = Stem::read(problem, stem))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const StemPlan p = *plan_stem(stem, target_.shared_bytes_per_block, config.get("rows"));
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    add_prepare(*kernel, stem.layer, p);
    add_stem(*kernel, problem, stem, p, packed);
    return kernel;
  }

 private:
  static void define(std::string& text, const char* name, int64_t value) {
    text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
  }

  void add_prepare(CudaKernel& kernel, const FirstLayer& layer, const StemPlan& p) const {
    const ConvolutionShape& g = layer.c.conv;
    std::string text = layer.types();
    define(text, "UNITS", p.units), define(text, "PADDED_H", p.padded_h), define(text, "PIXELS", p.pixels);
    define(text, "CHANNELS", g.channels), define(text, "PAD_TOP", g.pad_top),
        define(text, "PAD_LEFT", g.pad_left);
    struct {
      int units, height, width;
      int64_t x_n, x_c, x_h, x_w;
    } image{static_cast<int>(g.batch * p.padded_h * p.units),
            static_cast<int>(g.in_h),
            static_cast<int>(g.in_w),
            g.x_n,
            g.x_c,
            g.x_h,
            g.x_w};
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>((image.units + 255) / 256);
    geometry.block.x = 256;
    geometry.early_start = true;
    kernel.set_workspace(static_cast<size_t>(image.units) * kUnitBytes);
    kernel.add(make_cuda_source("conv/stem_prepare.cu", text), "stem_prepare", geometry)
        .input(layer.input)
        .workspace()
        .value(image);
  }

  void add_stem(CudaKernel& kernel, const Problem& problem, const Stem& stem, const StemPlan& p,
                const Packed& packed) const {
    const Contraction& c = stem.layer.c;
    const ConvolutionShape& g = c.conv;
    const TailSource tail(c, {});
    std::string text = tail.text();
    define(text, "CLUSTER", 1), define(text, "TAPS", p.taps), define(text, "FILTER_H", g.kernel_h);
    define(text, "STRIDE_H", g.stride_h), define(text, "UNITS", p.units),
        define(text, "PADDED_H", p.padded_h);
    define(text, stem.pooled ? "POOL_ROWS" : "ROWS", p.rows), define(text, "PARTS", p.parts);
    define(text, "BN", p.bn), define(text, "OUT_H", g.out_h), define(text, "OUT_W", g.out_w);
    define(text, "STAGES", p.stages);
    text += "#include \"gemm/sm90.cuh\"\n" + wgmma_source(p.bn, c.element);
    struct {
      int tiles, tiles_per_image;
    } parameters{static_cast<int>(g.batch * p.tiles_per_image()), static_cast<int>(p.tiles_per_image())};
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(std::min(parameters.tiles, target_.multiprocessors));
    geometry.block.x = 384;
    geometry.shared_bytes = p.shared_bytes;
    geometry.early_start = true;
    CudaLaunch& launch =
        stem.pooled ? kernel.add(make_cuda_source("conv/stem_pool_sm90.cu", text), "stem_pool", geometry)
                    : kernel.add(make_cuda_source("conv/stem_sm90.cu", text), "stem", geometry);
    launch.workspace().constant(packed.at(0));
    launch.map_output(0, stem.pooled ? pooled_image_map(*stem.pooled, c, kFeatures)
                                     : result_image_map(problem, c, 1, std::min(p.bn, g.out_w), kFeatures));
    tail.add_parameters(launch.value(parameters));
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<StemSm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_stem_sm90_tactic
