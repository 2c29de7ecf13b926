// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of 16-bit floats by bulk copies of whole rows, and the means of their results:
// depthwise_sm90.cu.
#include <algorithm>
#include <cmath>

#include "backends/cuda/codegen/program_source.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/conv/image_maps.h"
#include "backends/cuda/kernels/depthwise/mean_problem.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz::cuda_depthwise_sm90_tactic {
namespace {

/// A strip of output rows, the columns and channels of a thread and of a block, and the blocks that share a
/// multiprocessor.
struct Strip {
  int64_t rows, cols, vec, block_c, blocks;

  int64_t threads(const ConvolutionShape& g) const {
    return 32 + (block_c / vec * ((g.out_w + cols - 1) / cols) + 31) / 32 * 32;
  }
  int64_t stage_bytes(const ConvolutionShape& g) const {
    return (((g.out_w - 1) * g.stride_w + g.kernel_w) * block_c * 2 + 127) / 128 * 128 + 16;
  }
};

struct DepthwiseProblem {
  Contraction c;
  bool has_mean = false;  // result 1
  ResultStrides y{};

  static std::optional<std::string> read(const Problem& problem, DepthwiseProblem& d) {
    MeanProblem mean;
    d.has_mean = problem.outputs.size() > 1;
    if (d.has_mean)
      if (auto why = MeanProblem::make(problem, mean)) return why;
    const Problem& plain = d.has_mean ? mean.plain : problem;
    if (auto why = Contraction::read(plain, d.c)) return why;
    if (!d.c.is_convolution) return "not a depthwise convolution";
    if (auto why = Gather::refusal(plain, d.c)) return why;
    d.y = result_strides(plain, d.c);
    if (d.has_mean && (problem.outputs[1].strides[1] != 1 || problem.outputs[1].dtype != d.c.result))
      return "means that are not adjacent, or of another type";
    return std::nullopt;
  }
};

class DepthwiseSm90 final : public Tactic {
 public:
  explicit DepthwiseSm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.depthwise.rows_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    if (!target_.arch.has_tma()) return "bulk tensor copies are there on sm_90 and newer only";
    DepthwiseProblem d;
    if (auto why = DepthwiseProblem::read(problem, d)) return why;
    const Contraction& c = d.c;
    const ConvolutionShape& g = c.conv;
    if (g.groups != g.channels || c.n != g.channels) return "not a depthwise convolution";
    if (c.element != DType::kFloat16 && c.element != DType::kBFloat16)
      return "elements of type " + std::string(dtype_name(c.element)) + ", expected 16-bit floats";
    if (g.kernel_h != g.kernel_w || g.kernel_w % 2 == 0 || g.kernel_w > 7 || g.stride_h != g.stride_w ||
        g.stride_w > 2 || g.dilation_h != 1 || g.dilation_w != 1)
      return "a filter other than 3x3, 5x5 or 7x7 with stride 1 or 2";
    if (g.channels % 8 != 0 || g.x_c != 1 || g.x_w % 8 != 0 || g.x_h % 8 != 0 || g.x_n % 8 != 0)
      return "the input is not channels-last with pixels on 16 bytes";
    if ((g.out_w - 1) * g.stride_w + g.kernel_w > 256) return "rows of more than 256 pixels";
    if (c.y_column != 1) return "the result is not channels-last";
    if (auto why = TailSource::column_refusal(c)) return why;
    if (ways(d).empty()) return "no strip of rows fits a block";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    DepthwiseProblem d;
    DepthwiseProblem::read(problem, d);
    std::vector<TacticConfig> list;
    for (const Strip& s : ways(d))
      list.push_back({{{"rows", s.rows},
                       {"cols", s.cols},
                       {"vec", s.vec},
                       {"channels", s.block_c},
                       {"blocks", s.blocks}}});
    return list;
  }

  /// [tap][channel]
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    DepthwiseProblem d;
    DepthwiseProblem::read(problem, d);
    const Contraction& c = d.c;
    const Tensor& w = *problem.inputs[static_cast<size_t>(c.b_input)].constant;
    const int64_t taps = c.conv.taps();
    Tensor packed = Tensor::zeros(c.element, {taps, c.n});
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t n = 0; n < c.n; ++n) packed.as<uint16_t>()[t * c.n + n] = w.as<uint16_t>()[n * taps + t];
    return {packed};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    DepthwiseProblem d;
    if (auto why = DepthwiseProblem::read(problem, d))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Contraction& c = d.c;
    const ConvolutionShape& g = c.conv;
    const Strip s{config.get("rows"), config.get("cols"), config.get("vec"), config.get("channels"),
                  config.get("blocks", 1)};
    const int64_t per_sm = s.blocks, stages = stage_count(d, s);
    const TailSource tail(c, {});
    std::string text = tail.text();
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("CLUSTER", 1), define("WIDTH_OUT", g.out_w), define("CHANNELS", g.channels),
        define("FILTER", g.kernel_w);
    define("STRIDE", g.stride_w), define("PAD_TOP", g.pad_top), define("PAD_LEFT", g.pad_left);
    define("ROWS", s.rows), define("COLS", s.cols), define("VEC", s.vec), define("BLOCK_C", s.block_c);
    define("STAGES", stages), define("BLOCKS_PER_SM", per_sm), define("HAS_MEAN", d.has_mean);
    text += "#include \"gemm/sm90.cuh\"\n";

    struct {
      int rows_out, strips, units, pad;
      int64_t y_n, y_h, y_w;
    } parameters{};
    parameters.rows_out = static_cast<int>(g.out_h);
    parameters.strips = static_cast<int>((g.out_h + s.rows - 1) / s.rows);
    parameters.units = parameters.strips * static_cast<int>(g.batch);
    parameters.y_n = d.y.n, parameters.y_h = d.y.h, parameters.y_w = d.y.w;
    const int64_t blocks_c = g.channels / s.block_c;
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(
        blocks_c * std::min<int64_t>(parameters.units,
                                     std::max<int64_t>(1, target_.multiprocessors * per_sm / blocks_c)));
    geometry.block.x = static_cast<unsigned>(s.threads(g));
    geometry.shared_bytes = static_cast<size_t>(stages * s.stage_bytes(g) + mean_bytes(d, s));
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch =
        kernel->add(make_cuda_source("depthwise/depthwise_sm90.cu", text), "depthwise", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), image_map(c, 1, (g.out_w - 1) * g.stride_w + g.kernel_w,
                                                               s.block_c, cuda::MapSwizzle::kNone));
    launch.constant(packed.at(0)).value(parameters);
    if (!d.has_mean) {
      tail.add_parameters(launch.null());
      return kernel;
    }
    tail.add_parameters(launch.workspace());
    kernel->set_workspace(static_cast<size_t>(parameters.units * g.channels) * sizeof(float));
    add_means(*kernel, problem.outputs[1], g, parameters.strips);
    return kernel;
  }

 private:
  static constexpr int64_t kMostStages = 16;

  static void add_means(CudaKernel& kernel, const TensorDesc& mean, const ConvolutionShape& g, int strips) {
    constexpr int64_t kThreads = 128;
    const int64_t count = g.batch * g.channels;
    const std::string text = "#include \"base/device.cuh\"\n#include \"base/elements.cuh\"\nusing Result = " +
                             std::string(memory_type(mean.dtype)) + ";\n";
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    geometry.block.x = kThreads;
    geometry.early_start = true;
    kernel.add(make_cuda_source("depthwise/mean_of_sums.cu", text), "mean_of_sums", geometry)
        .workspace()
        .output(1)
        .value(static_cast<int>(count))
        .value(static_cast<int>(g.channels))
        .value(strips)
        .value(1.0f / static_cast<float>(g.out_h * g.out_w))
        .value(mean.strides[0]);
  }

  /// Shared memory for the sums of threads.
  static int64_t mean_bytes(const DepthwiseProblem& d, const Strip& s) {
    return d.has_mean ? 2 * ((d.c.conv.out_w + s.cols - 1) / s.cols) * s.block_c * 4 : 0;
  }

  int64_t stage_count(const DepthwiseProblem& d, const Strip& s) const {
    const int64_t room =
        static_cast<int64_t>(target_.shared_bytes_per_block) / s.blocks - 2048 - mean_bytes(d, s);
    return std::min(kMostStages, room / s.stage_bytes(d.c.conv));
  }

  std::vector<Strip> ways(const DepthwiseProblem& d) const {
    const ConvolutionShape& g = d.c.conv;
    std::vector<std::pair<double, Strip>> rated;
    for (int64_t vec : {4, 2})
      for (int64_t block_c = 16; block_c <= 256 && block_c <= g.channels; block_c += 8) {
        if (g.channels % block_c != 0) continue;
        for (int64_t cols : {8, 7, 4, 2, 1})
          for (int64_t rows : {56, 28, 14, 8, 4}) {
            // More blocks hide each other's waits.
            for (int64_t blocks : {1, 2, 3, 4}) {
              const Strip s{rows, cols, vec, block_c, blocks};
              if (fits(d, s)) rated.emplace_back(cost(g, s), s);
            }
          }
      }
    if (rated.empty() && g.channels < 16) {
      const Strip s{8, std::min<int64_t>(4, g.out_w), 2, g.channels, 1};
      if (fits(d, s)) rated.emplace_back(0, s);
    }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    // Different blocks are worth more tries than different strips; with one block a multiprocessor, and with
    // several, which the estimate compares badly.
    std::vector<Strip> list;
    for (const bool several : {false, true}) {
      const size_t most = list.size() + (several ? 4 : 5);
      for (const auto& [cost, s] : rated) {
        const bool similar = std::any_of(list.begin(), list.end(), [&](const Strip& o) {
          return o.block_c == s.block_c && o.vec == s.vec && o.cols == s.cols && o.blocks == s.blocks;
        });
        if (!similar && several == (s.blocks > 1) && list.size() < most) list.push_back(s);
      }
    }
    return list;
  }

  bool fits(const DepthwiseProblem& d, const Strip& s) const {
    const ConvolutionShape& g = d.c.conv;
    if (s.cols > g.out_w || (s.rows > 4 && s.rows >= 2 * g.out_h)) return false;
    const int64_t threads = s.threads(g), open = (g.kernel_h + g.stride_h - 1) / g.stride_h;
    if (threads > 544 || threads < 64) return false;
    const int64_t registers =
        s.vec * (g.taps() + open * s.cols + (s.cols - 1) * g.stride_w + g.kernel_w) + 40;
    // Warps get registers in groups of four.
    const int64_t available = std::min<int64_t>(255, 65536 / ((threads / 32 + 3) / 4 * 128 * s.blocks));
    return registers <= available &&
           stage_count(d, s) >= (s.blocks == 1 ? std::min<int64_t>(4, g.kernel_h + 1) : g.kernel_h + 2);
  }

  /// Relative: rows read again at the edges of strips, waves of units, loads and products of a thread.
  double cost(const ConvolutionShape& g, const Strip& s) const {
    const int64_t blocks_c = g.channels / s.block_c;
    const double strips = std::ceil(double(g.out_h) / double(s.rows));
    const double units = double(g.batch) * strips * double(blocks_c);
    const auto blocks = double(s.blocks);
    const double waves = std::ceil(units / (target_.multiprocessors * blocks));
    const double rows_in = double((s.rows - 1) * g.stride_h + g.kernel_h);
    const double used_cols = double((g.out_w + s.cols - 1) / s.cols * s.cols) / double(g.out_w);
    const double bytes = double(s.stage_bytes(g)) * rows_in + double(s.rows * g.out_w * s.block_c) * 2;
    const double memory = bytes / 22.0;  // clocks: a multiprocessor's share of the memory
    const double reads = double((s.cols - 1) * g.stride_w + g.kernel_w) / double(s.cols);
    const double per_row = double(g.out_w * s.block_c) * used_cols *
                           (double(g.taps()) / double(g.stride_h) / 100.0 + reads / double(s.vec) / 16.0);
    const double warps = double(s.threads(g) - 32) / 32;
    const double latency = rows_in * (warps < 8 ? 60.0 : 30.0);
    const double products = per_row * rows_in / double(g.stride_h == 2 ? 1.4 : 1.0);
    return waves * (blocks * std::max(memory, products) + latency);
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<DepthwiseSm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_depthwise_sm90_tactic
