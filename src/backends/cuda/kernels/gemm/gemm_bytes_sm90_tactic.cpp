// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit elements on Hopper's matrix unit: gemm_bytes_sm90.cu.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "backends/cuda/kernels/gemm/hopper_way.h"
#include "base/error.h"

namespace wootz::cuda_gemm_bytes_sm90_tactic {
namespace {

constexpr int64_t kMostStages = 8;
constexpr size_t kMostConfigs = 16;
// Widths are multiples of 16, as the integer form of the matrix unit has them.
constexpr HopperWay kWays[] = {
    {2, 128, 2, 1, 1, 0, 0},
    {1, 256, 2, 0, 1, 0, 0},
    {1, 256, 2, 0, 2, 0, 0},
    {2, 128, 2, 0, 2, 1, 0},
    {1, 128, 3, 0, 1, 0, 0},
    {1, 256, 2, 1, 1, 0, 0},
    {1, 256, 2, 1, 2, 0, 0},
    {1, 192, 2, 0, 1, 0, 0},
    {1, 192, 2, 1, 1, 0, 0},
    {1, 128, 2, 0, 1, 0, 0},
    {1, 128, 2, 1, 1, 0, 0},
    {2, 64, 2, 1, 1, 0, 0},
    {2, 64, 2, 0, 1, 0, 0},
    {1, 64, 3, 0, 1, 0, 0},
    {1, 64, 2, 1, 1, 0, 0},
    // Two blocks a multiprocessor: one multiplies while the other finishes its sums.
    {1, 128, 2, 0, 1, 0, 0, 0, 2},
    {1, 128, 2, 0, 2, 1, 0, 0, 2},
    {2, 64, 2, 0, 1, 0, 0, 0, 2},
    {1, 64, 2, 0, 1, 0, 0, 0, 2},
    {1, 64, 2, 0, 1, 0, 0, 0, 3},
};
// Results straight from registers: as wide as the columns divide evenly.
constexpr HopperWay kDirectWays[] = {{2, 0, 2, 1, 1, 0, 0, 1}, {2, 0, 2, 0, 1, 0, 0, 1},
                                     {1, 0, 3, 0, 1, 0, 0, 1}, {1, 0, 2, 0, 1, 0, 0, 1},
                                     {1, 0, 2, 0, 2, 0, 0, 1}, {1, 0, 2, 1, 1, 0, 0, 1}};
constexpr double kResidualClocks = 1500;  // from the request to the arrival, by estimate
constexpr int64_t kMostSums = 128, kMostSumsOfThree = 96, kMostSumsOfBlocks = 128;

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Buffers in shared memory.
struct Room {
  int64_t panel_row = 128, panels = 0, stages = 0, bytes = 0;
};

class GemmBytesSm90 final : public Tactic {
 public:
  explicit GemmBytesSm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.bytes_sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    HopperOperands o;
    if (auto why = HopperOperands::read_bytes(target_, problem, o)) return why;
    if (ranked(o).empty()) return "no tile fits";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    HopperOperands o;
    HopperOperands::read_bytes(target_, problem, o);
    std::vector<TacticConfig> list = ranked(o);
    list.resize(std::min(list.size(), kMostConfigs));
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    HopperOperands o;
    HopperOperands::read_bytes(target_, problem, o);
    return o.pack(problem);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    HopperOperands o;
    if (auto why = HopperOperands::read_bytes(target_, problem, o))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Contraction& c = o.contraction();
    const HopperWay way = way_for(config, o);
    const StagedOperands staged = o.staged(way.direct);
    const TailSource tail(c, staged);
    const Room room = room_for(way, o);
    const int64_t along_m = way.along_n ? 1 : way.cluster, along_n = way.along_n ? way.cluster : 1;
    Parameters parameters{static_cast<int>(tiles_m(way, o)), static_cast<int>(o.rows()),
                          static_cast<int>(c.conv.out_h), static_cast<int>(c.conv.out_w)};
    CudaGeometry geometry;
    const int64_t tiles = parameters.m_tiles * tiles_n(way, c);
    geometry.grid.x = static_cast<unsigned>(
        std::min(tiles, way.blocks * target_.multiprocessors / way.cluster) * way.cluster);
    geometry.block.x = static_cast<unsigned>(128 * way.consumers + (way.blocks == 1 ? 128 : 32));
    geometry.shared_bytes = static_cast<size_t>(room.bytes);
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    const std::string text = tail.text() + o.constants() + constants(way, room, o) +
                             "\n#include \"gemm/sm90.cuh\"\n" +
                             wgmma_bytes_source(way.bn, c.element, c.b_element);
    CudaLaunch& launch =
        kernel->add(make_cuda_source("gemm/gemm_bytes_sm90.cu", text), "gemm_bytes", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), o.a_map(way.tile_rows() / along_n));
    o.add_b(launch, packed, way.bn / along_m);
    add_result(launch, way, room, o, staged);
    launch.value(parameters);
    if (packed.size() > 1)
      launch.constant(packed[1]);
    else
      launch.null();
    tail.add_parameters(launch);
    return kernel;
  }

 private:
  /// Mirrors Problem of pipeline_sm90.cuh.
  struct Parameters {
    int m_tiles, rows, rows_out, cols_out;
    int batch = 1, batch_inner = 1, a_outer = 0, a_inner = 0, b_outer = 0, b_inner = 0;
    int64_t gate_image = 0;
  };

  /// A way that was chosen at another shape may leave the result to the copy engine, whose rows lie at one
  /// distance.
  HopperWay way_for(const TacticConfig& config, const HopperOperands& o) const {
    const HopperWay way = HopperWay::of(config);
    if ((way.direct || o.has_result_map()) && room_for(way, o).stages >= 2) return way;
    const std::vector<TacticConfig> others = ranked(o);
    if (others.empty())
      throw Error(ErrorKind::kUnsupported, std::string(id()) + ": no way to write the result at this shape");
    return HopperWay::of(others[0]);
  }

  /// The maps of the result and of the staged residual; one that is not used stands in for another.
  static void add_result(CudaLaunch& launch, const HopperWay& way, const Room& room, const HopperOperands& o,
                         const StagedOperands& staged) {
    const auto a = static_cast<size_t>(o.contraction().a_input);
    if (way.direct) {
      launch.map_input(a, o.a_map(64)).map_input(a, o.a_map(64));
      return;
    }
    launch.map_output(0, o.result_map(64, room.panel_row));
    if (staged.residual < 0) {
      launch.map_output(0, o.result_map(64, room.panel_row));
      return;
    }
    const TailOperand& residual = o.contraction().operands[static_cast<size_t>(staged.residual)];
    launch.map_input(static_cast<size_t>(residual.input), o.residual_map(residual, 64, room.panel_row));
  }

  /// What may be tried, best guess first.
  std::vector<TacticConfig> ranked(const HopperOperands& o) const {
    const int64_t n = o.contraction().n;
    std::vector<HopperWay> ways;
    if (o.has_result_map()) ways.assign(std::begin(kWays), std::end(kWays));
    if (o.has_result_map() && o.staged(false).residual >= 0)
      for (size_t i = 0, plain = ways.size(); i < plain; ++i) {
        ways.push_back(ways[i]);
        ways.back().ahead = 1;
      }
    if (!o.has_result_map() || n % 64 != 0) {
      int64_t last = 0;
      for (int64_t columns = 1; columns == 1 || n > 96 * (columns - 1); ++columns) {
        const int64_t bn = wide_enough(ceil_div(n, columns));
        if (bn > 256 || bn == last) continue;
        last = bn;
        for (HopperWay way : kDirectWays) {
          way.bn = bn;
          ways.push_back(way);
        }
      }
    }
    std::vector<std::pair<double, TacticConfig>> rated;
    for (const HopperWay& way : ways)
      if (fits(way, o)) rated.emplace_back(cost(way, o), way.config());
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<TacticConfig> list;
    for (auto& [seconds, config] : rated) list.push_back(std::move(config));
    return list;
  }

  /// Of the matrix unit's integer form.
  static int64_t wide_enough(int64_t columns) { return columns <= 16 ? 16 : ceil_div(columns, 16) * 16; }

  static int64_t tiles_m(const HopperWay& w, const HopperOperands& o) {
    return ceil_div(o.rows(), w.tile_rows() * (w.along_n ? 1 : w.cluster));
  }
  static int64_t tiles_n(const HopperWay& w, const Contraction& c) {
    return ceil_div(c.n, w.bn * (w.along_n ? w.cluster : 1));
  }

  Room room_for(const HopperWay& w, const HopperOperands& o) const {
    constexpr int64_t kBarriers = 1024;
    const auto result = static_cast<int64_t>(dtype_size(o.contraction().result));
    Room room;
    if (!w.direct && w.bn * result % 128 != 0) room.panel_row = 64;
    const int64_t all = w.m_blocks * w.bn * result / room.panel_row;
    // A residual waits in the panels for its tile, so there must be one for each; otherwise two take turns.
    room.panels = o.staged(w.direct).residual >= 0 || all % 2 != 0 ? all * (1 + w.ahead) : 2;
    if (w.direct) room.panels = 0;
    const int64_t panel_bytes = w.consumers * room.panels * 64 * room.panel_row;
    const int64_t stage = (w.tile_rows() + w.bn) * o.row_bytes();
    // A multiprocessor has 1 KiB more than a block may take, and keeps 1 KiB for each.
    const int64_t all_bytes = static_cast<int64_t>(target_.shared_bytes_per_block) + 1024;
    const int64_t left = all_bytes / w.blocks - 1024 - panel_bytes - kBarriers;
    room.stages = std::min(left / stage, kMostStages);
    room.bytes = room.stages * stage + panel_bytes + 8 * (2 * room.stages + w.consumers + 1);
    return room;
  }

  bool fits(const HopperWay& w, const HopperOperands& o) const {
    const Contraction& c = o.contraction();
    if (room_for(w, o).stages < 3) return false;
    if (w.bn > 64 && c.n <= w.bn / 2) return false;                            // half of every tile is empty
    if (w.bn < 128 && w.blocks == 1 && !w.direct && c.n >= 256) return false;  // never among the fastest
    if (w.cluster > 1 && tiles_m(w, o) * tiles_n(w, c) < 64) return false;
    if (w.cluster > 1 && w.along_n && ceil_div(c.n, w.bn) % w.cluster != 0) return false;
    if (w.cluster > 1 && !w.along_n && w.bn % 32 != 0) return false;  // blocks fetch whole swizzle atoms
    if (w.blocks > 1 && tiles_m(w, o) * tiles_n(w, c) < w.blocks * target_.multiprocessors) return false;
    const int64_t most = w.blocks > 1       ? kMostSumsOfBlocks / w.blocks
                         : w.consumers == 3 ? kMostSumsOfThree
                                            : kMostSums;
    if (w.m_blocks * w.bn / 2 > most) return false;
    return w.tile_rows() <= 64 || o.rows() > w.tile_rows() / 2;
  }

  /// Estimated seconds, relative, as gemm_sm90_tactic.cpp has it: twice the products a clock, half the bytes.
  double cost(const HopperWay& w, const HopperOperands& o) const {
    const double tiles = double(tiles_m(w, o) * tiles_n(w, o.contraction()) * w.cluster);
    const double waves = std::ceil(tiles / target_.multiprocessors);
    const double area = double(w.tile_rows() * w.bn), edge = double(w.tile_rows() + w.bn);
    const double k = double(o.blocks_k() * o.step_k());
    const double products = area * k / (w.bn >= 96 ? 8192.0 : 5200.0);
    const double copies = (w.cluster > 1 ? 0.8 : 1.0) * edge * k / (o.is_im2col() ? 50.0 : 115.0);
    // A residual that is asked for with its tile comes after the sums of few channels.
    const bool waits = w.ahead == 0 && !w.direct && o.staged(false).residual >= 0;
    const double epilogue = area / 12.0 + (waits ? std::max(0.0, kResidualClocks - k * 4) : 0);
    const double main = std::max(products, copies);
    if (w.blocks > 1)
      return std::ceil(tiles / target_.multiprocessors / double(w.blocks)) *
                 (std::max(2 * main, main + epilogue) + 150) +
             1500;
    const double tile = w.pingpong ? std::max(main, epilogue / 2) + 150 : main + epilogue + 150;
    return waves * tile + (w.pingpong ? epilogue : 0) + 1500;
  }

  static std::string constants(const HopperWay& w, const Room& room, const HopperOperands& o) {
    std::string text;
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("M_BLOCKS", w.m_blocks), define("BN", w.bn), define("CONSUMERS", w.consumers);
    define("PINGPONG", w.pingpong), define("CLUSTER", w.cluster), define("CLUSTER_ALONG_N", w.along_n);
    define("B_RESIDENT", 0), define("GROUP_M", 8), define("STAGES", room.stages);
    define("PANEL_BUFFERS", room.panels), define("PANEL_BYTES", room.panel_row), define("DIRECT", w.direct);
    define("BLOCKS", w.blocks), define("RESIDUAL_AHEAD", w.ahead);
    define("RESULT_BYTES", static_cast<int64_t>(dtype_size(o.contraction().result)));
    define("HAS_CORRECTION", o.contraction().a_zero != 0);
    return text;
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmBytesSm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_gemm_bytes_sm90_tactic
