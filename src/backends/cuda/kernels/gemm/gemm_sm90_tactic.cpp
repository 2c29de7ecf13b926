// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 16-bit floats, and of float32 as TF32, on Hopper's matrix unit: gemm_sm90.cu.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "backends/cuda/kernels/gemm/hopper_way.h"
#include "base/error.h"
#include "device/gated_problem.h"
#include "device/pooled_problem.h"

namespace wootz::cuda_gemm_sm90_tactic {
namespace {

constexpr int64_t kRowBytes = 128, kPanelBytes = 64 * kRowBytes, kMostStages = 12;

// Results through shared memory in panels of 64 columns.
constexpr HopperWay kWays[] = {
    {2, 128, 2, 1, 1, 0, 0}, {1, 256, 2, 0, 1, 0, 0}, {1, 256, 2, 0, 2, 0, 0}, {2, 128, 2, 0, 2, 1, 0},
    {1, 128, 3, 0, 1, 0, 0}, {1, 256, 2, 1, 1, 0, 0}, {1, 256, 2, 1, 2, 0, 0}, {1, 192, 2, 0, 1, 0, 0},
    {1, 192, 2, 1, 1, 0, 0}, {1, 128, 2, 0, 1, 0, 0}, {1, 128, 2, 1, 1, 0, 0}, {2, 64, 2, 1, 1, 0, 0},
    {2, 128, 2, 1, 2, 1, 0}, {1, 64, 2, 1, 1, 0, 0},  {1, 256, 2, 1, 1, 0, 1}, {2, 128, 2, 1, 1, 0, 1},
    {1, 256, 2, 0, 1, 0, 1},
};

// More for four products one after the other, between which warpgroups do not take turns.
constexpr HopperWay kPooledWays[] = {{2, 128, 2, 0, 1, 0, 0}, {2, 64, 2, 0, 1, 0, 0}, {1, 64, 3, 0, 1, 0, 0}};

// Results straight from registers: as wide as the columns divide evenly.
constexpr HopperWay kDirectWays[] = {
    {2, 0, 2, 1, 1, 0, 0, 1}, {2, 0, 2, 0, 2, 1, 0, 1}, {1, 0, 3, 0, 1, 0, 0, 1}, {1, 0, 2, 0, 1, 0, 0, 1},
    {1, 0, 2, 0, 2, 0, 0, 1}, {1, 0, 2, 1, 1, 0, 0, 1}, {2, 0, 2, 1, 1, 0, 1, 1}, {1, 0, 2, 1, 1, 0, 1, 1}};

// Rows of float32 without a gap between them, through shared memory: all columns in one tile.
constexpr int64_t kDense = 2;
constexpr HopperWay kDenseWays[] = {
    {1, 0, 2, 1, 1, 0, 0, kDense}, {1, 0, 2, 1, 1, 0, 1, kDense}, {1, 0, 2, 0, 1, 0, 0, kDense}};
// Registers of a consumer's sums.
constexpr int64_t kMostSums = 128, kMostSumsOfThree = 96;
constexpr int64_t kWidestNarrow = 48;

/// Buffers in shared memory.
struct Room {
  int64_t panels = 0, stages = 0, bytes = 0;
  int64_t row_buffers = 1;  // of a warp, of eight rows each
};

/// A product or convolution, whose input may be multiplied by one factor an image and channel first, or of
/// whose result a pool may leave a quarter.
struct GatedOperands : HopperOperands {
  int gate = -1;  // input of the region
  int64_t gate_image = 0;

  static std::optional<std::string> read(const CudaTarget& target, const Problem& problem, GatedOperands& o) {
    PooledProblem pooled;
    if (!PooledProblem::make(problem, pooled)) {
      if (pooled.window != 2) return "a pool of 3x3";
      if (auto why = HopperOperands::read(target, pooled.plain, o)) return why;
      return o.is_tf32() ? std::optional<std::string>("a pool behind float32") : o.pool(pooled.result);
    }
    GatedProblem gated;
    if (GatedProblem::make(problem, gated)) return HopperOperands::read(target, problem, o);
    if (auto why = HopperOperands::read(target, gated.plain, o)) return why;
    if (o.is_tf32()) return "a gate before float32";
    const TensorDesc& gate = problem.inputs[static_cast<size_t>(gated.gate_input)];
    o.gate = gated.gate_input;
    o.gate_image = gate.dims[0] == 1 ? 0 : gate.strides[0];
    if (o.is_im2col() || !o.packs_b()) return "a gate before another convolution than 1x1 of stride 1";
    if (gate.constant) return "a gate that is constant";
    if (gate.strides[1] != 1 || o.gate_image % 2 != 0) return "a gate whose pairs are not on 4 bytes";
    return std::nullopt;
  }
};

class GemmSm90 final : public Tactic {
 public:
  explicit GemmSm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    GatedOperands o;
    return GatedOperands::read(target_, problem, o);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    GatedOperands o;
    GatedOperands::read(target_, problem, o);
    std::vector<std::pair<double, TacticConfig>> rated;
    for (const HopperWay& way : ways(o))
      if (fits(way, o)) rated.emplace_back(cost(way, o), way.config());
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    // There are more to choose from without panels, and where few tiles wait for what they read.
    const bool few = o.rows() * o.contraction().n <= int64_t{64 * 64} * 2 * target_.multiprocessors;
    const size_t most =
        (o.contraction().n % 64 == 0 && !few ? 6 : 9) + (is_dense(o) ? std::size(kDenseWays) : 0);
    std::vector<TacticConfig> list;
    for (size_t i = 0; i < std::min(most, rated.size()); ++i) list.push_back(rated[i].second);
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    GatedOperands o;
    GatedOperands::read(target_, problem, o);
    return o.pack(problem);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    GatedOperands o;
    if (auto why = GatedOperands::read(target_, problem, o))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const Contraction& c = o.contraction();
    const HopperWay way = way_for(config, problem, o);
    const StagedOperands staged = o.staged(way.direct);
    const TailSource tail(c, staged);
    const Room room = room_for(way, o);
    const int64_t along_m = way.along_n ? 1 : way.cluster, along_n = way.along_n ? way.cluster : 1;

    Parameters parameters;
    parameters.m_tiles = static_cast<int>(tiles_m(way, o));
    parameters.rows = static_cast<int>(o.rows());
    parameters.rows_out = static_cast<int>(c.conv.out_h),
    parameters.cols_out = static_cast<int>(c.conv.out_w);
    const HopperBatch& b = o.batch();
    parameters.batch = static_cast<int>(o.matrices()), parameters.batch_inner = static_cast<int>(b.inner);
    parameters.a_outer = b.a_outer != 0, parameters.a_inner = b.a_inner != 0;
    parameters.b_outer = b.b_outer != 0, parameters.b_inner = b.b_inner != 0;
    parameters.gate_image = o.gate_image;

    CudaGeometry geometry;
    const int64_t tiles = parameters.m_tiles * tiles_n(way, c) * o.matrices();
    const int64_t blocks =
        way.resident ? std::min<int64_t>(parameters.m_tiles, target_.multiprocessors / tiles_n(way, c)) *
                           tiles_n(way, c)
                     : std::min(tiles, target_.multiprocessors / way.cluster) * way.cluster;
    geometry.grid.x = static_cast<unsigned>(blocks);
    geometry.block.x = static_cast<unsigned>(128 * (way.consumers + 1));
    geometry.shared_bytes = static_cast<size_t>(room.bytes);
    geometry.early_start = true;

    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    const std::string text =
        tail.text() + o.constants() + constants(way, room) + "#define GATED " + (o.gate < 0 ? "0" : "1") +
        "\n#include \"gemm/sm90.cuh\"\n" +
        wgmma_source(way.bn, c.element, o.gate < 0 ? OperandA::kShared : OperandA::kRegisters);
    CudaLaunch& launch = kernel->add(make_cuda_source("gemm/gemm_sm90.cu", text), "gemm", geometry);
    launch.map_input(static_cast<size_t>(c.a_input), o.a_map(way.tile_rows() / along_n));
    o.add_b(launch, packed, way.bn / along_m);
    add_result(launch, way, o, staged);
    launch.value(parameters);
    if (o.gate < 0)
      launch.null();
    else
      launch.input(static_cast<size_t>(o.gate)).begins_on(4);
    tail.add_parameters(launch, way.direct == kDense ? 16 : 1);
    return kernel;
  }

 private:
  /// Mirrors Problem of gemm_sm90.cu.
  struct Parameters {
    int m_tiles, rows, rows_out, cols_out, batch, batch_inner, a_outer, a_inner, b_outer, b_inner;
    int64_t gate_image;
  };

  /// A way that was chosen at another shape may leave the result to the copy engine, whose rows lie at one
  /// distance, or share one matrix among blocks; here a transposed result of a batch above 1 has rows at two
  /// distances, and a batch has a matrix each.
  HopperWay way_for(const TacticConfig& config, const Problem& problem, const GatedOperands& o) const {
    const HopperWay way = HopperWay::of(config);
    if (works(way, o)) return way;
    const std::vector<TacticConfig> others = configs(problem);
    if (others.empty())
      throw Error(ErrorKind::kUnsupported, std::string(id()) + ": no way to write the result at this shape");
    return HopperWay::of(others[0]);
  }

  /// The maps of the result and of the staged residual; one that is not used stands in for another.
  static void add_result(CudaLaunch& launch, const HopperWay& way, const GatedOperands& o,
                         const StagedOperands& staged) {
    const size_t a = static_cast<size_t>(o.contraction().a_input);
    if (way.direct) {
      launch.map_input(a, o.a_map(64)).map_input(a, o.a_map(64));
      return;
    }
    launch.map_output(0, o.result_map(64));
    if (staged.residual < 0) {
      launch.map_output(0, o.result_map(64));
      return;
    }
    const TailOperand& residual = o.contraction().operands[static_cast<size_t>(staged.residual)];
    launch.map_input(static_cast<size_t>(residual.input), o.residual_map(residual, 64));
  }

  /// What may be tried: tiles of whole panels where the copy engine can write the result, and tiles of one
  /// narrow column or of evenly divided columns where it cannot or 64 columns would be mostly empty.
  static std::vector<HopperWay> ways(const GatedOperands& o) {
    const int64_t n = o.contraction().n;
    std::vector<HopperWay> list;
    if (o.has_result_map()) list.assign(std::begin(kWays), std::end(kWays));
    if (o.is_pooled()) list.insert(list.end(), std::begin(kPooledWays), std::end(kPooledWays));
    // Panels of 64 columns would be partly empty: one column of tiles may fit better.
    const bool fits_panels = n % 64 == 0 || n > 256;
    if (o.has_result_map() && (fits_panels || o.is_pooled())) return list;
    if (is_dense(o))
      for (HopperWay way : kDenseWays) {
        way.bn = n <= kWidestNarrow ? ceil_div(n, 8) * 8 : ceil_div(n, 16) * 16;
        list.push_back(way);
      }
    int64_t last = 0;
    for (int64_t columns = 1; columns == 1 || n > 96 * (columns - 1); ++columns) {
      const int64_t bn = n <= kWidestNarrow ? ceil_div(n, 8) * 8 : ceil_div(ceil_div(n, columns), 16) * 16;
      if (bn > 256 || bn == last) continue;
      last = bn;
      for (HopperWay way : kDirectWays) {
        way.bn = bn;
        list.push_back(way);
      }
    }
    return list;
  }

  static bool is_dense(const GatedOperands& o) {
    const Contraction& c = o.contraction();
    return c.result == DType::kFloat32 && !c.quantize && c.n <= 256 && c.y_pitch() == c.n &&
           !o.is_batched() && o.gate < 0 && !o.is_pooled() && o.staged(true).residual < 0;
  }
  static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
  static int64_t tiles_m(const HopperWay& w, const GatedOperands& o) {
    return ceil_div(o.rows(), w.tile_rows() * (w.along_n ? 1 : w.cluster));
  }
  static int64_t tiles_n(const HopperWay& w, const Contraction& c) {
    return ceil_div(c.n, w.bn * (w.along_n ? w.cluster : 1));
  }

  Room room_for(const HopperWay& w, const GatedOperands& o) const {
    const int64_t all = w.m_blocks * w.bn / 64, barriers = 1024;
    Room room;
    // A residual waits in the panels for its tile, so there must be one for each; otherwise two take turns.
    room.panels = o.staged(w.direct).residual >= 0 || all % 2 != 0 ? all : 2;
    if (w.direct) room.panels = 0;
    const int64_t resident = w.resident ? o.blocks_k() * w.bn * kRowBytes : 0;
    const int64_t stage = (w.tile_rows() + (w.resident ? 0 : w.bn)) * kRowBytes;
    int64_t panel_bytes = 0;
    const auto leave = [&](int64_t panels) {
      room.panels = panels;
      panel_bytes = w.consumers * panels * kPanelBytes;
      const int64_t left =
          static_cast<int64_t>(target_.shared_bytes_per_block) - panel_bytes - resident - barriers;
      room.stages = std::min(left / stage, kMostStages);
    };
    const auto panels_of_rows = [&] {
      constexpr int64_t kWarps = 4;
      return ceil_div(kWarps * room.row_buffers * (ceil_div(8 * o.contraction().n * 4, 128) * 128),
                      kPanelBytes);
    };
    if (w.direct == kDense) {
      // With two, a warp goes on while what it wrote leaves.
      room.row_buffers = 2, leave(panels_of_rows());
      if (room.stages < 3) room.row_buffers = 1, leave(panels_of_rows());
    } else {
      leave(room.panels);
    }
    room.bytes = room.stages * stage + panel_bytes + resident + 8 * (2 * room.stages + w.consumers + 1);
    return room;
  }

  /// Whether a way computes the problem at all.
  bool works(const HopperWay& w, const GatedOperands& o) const {
    const Contraction& c = o.contraction();
    if (!w.direct && !o.is_pooled() && !o.has_result_map()) return false;
    if (w.direct == kDense && (!is_dense(o) || w.bn < c.n)) return false;
    if (room_for(w, o).stages < 2) return false;
    if (o.gate >= 0 && (w.m_blocks > 1 || w.bn > 128)) return false;  // fragments and factors need registers
    if (o.is_pooled() && (w.pingpong || w.resident || w.direct)) return false;
    if ((w.cluster > 1 || w.resident) && o.is_batched()) return false;
    if (w.cluster > 1 && w.along_n && ceil_div(c.n, w.bn) % w.cluster != 0) return false;
    if (w.cluster > 1 && !w.along_n && w.bn % 16 != 0)
      return false;  // each block fetches whole swizzle atoms
    if (w.direct && w.m_blocks * w.bn / 2 > (w.consumers == 3 ? kMostSumsOfThree : kMostSums)) return false;
    return !w.resident || tiles_n(w, c) <= target_.multiprocessors;
  }

  /// Whether it is worth a try.
  bool fits(const HopperWay& w, const GatedOperands& o) const {
    const Contraction& c = o.contraction();
    if (!works(w, o) || room_for(w, o).stages < 3) return false;
    if (w.bn > 64 && c.n <= w.bn / 2) return false;  // half of every tile is empty
    if (w.cluster > 1 && tiles_m(w, o) * tiles_n(w, c) < 64) return false;
    if (w.resident)
      return o.blocks_k() <= 4 && tiles_n(w, c) <= target_.multiprocessors / 4 &&
             tiles_m(w, o) * tiles_n(w, c) > 2 * target_.multiprocessors;
    return w.tile_rows() <= 64 || o.rows() > w.tile_rows() / 2 || o.is_pooled();
  }

  /// Estimated seconds, relative: whole waves of tiles, each as long as the matrix unit or the copies take.
  double cost(const HopperWay& w, const GatedOperands& o) const {
    const double tiles = double(tiles_m(w, o) * tiles_n(w, o.contraction()) * o.matrices() * w.cluster);
    const double waves = std::ceil(tiles / target_.multiprocessors);
    const double area = double(w.tile_rows() * w.bn), edge = double(w.tile_rows() + (w.resident ? 0 : w.bn));
    // Units of two clocks: 4,096 multiply-adds of the matrix unit each, narrow tiles at half; 57 bytes a
    // clock from L2, less where filter positions are read, operands shared in clusters; the epilogue, which
    // ping-pong hides behind the other consumer's products.
    const double k = double(o.blocks_k() * 64) * (o.is_pooled() ? 4 : 1);
    // Narrower than 64, a tile waits for shared memory, which gives 128 bytes a clock.
    const double products = w.bn < 64 ? k / 32 * double(w.tile_rows() / 64 * (2048 + 32 * w.bn)) / 128
                                      : area * k / (w.bn >= 96 ? 4096.0 : 2600.0);
    const double copies = (w.cluster > 1 ? 0.8 : 1.0) * edge * k * 2 / (o.is_im2col() ? 50.0 : 115.0);
    const double epilogue =
        area / (w.direct == kDense ? 32.0 : 16.0) * (has_costly_tail(o.contraction().tail) ? 2 : 1);
    const double main = std::max(products, copies);
    const double tile = w.pingpong ? std::max(main, epilogue / 2) + 150 : main + epilogue + 150;
    return waves * tile + (w.pingpong ? epilogue : 0) + 1500;
  }

  static bool has_costly_tail(const ScalarProgram& tail) {
    return std::any_of(tail.instructions.begin(), tail.instructions.end(), [](const ScalarInstruction& i) {
      return i.op == ScalarOp::kGelu || i.op == ScalarOp::kErf || i.op == ScalarOp::kGeluTanh;
    });
  }

  static std::string constants(const HopperWay& w, const Room& room) {
    std::string text;
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("M_BLOCKS", w.m_blocks), define("BN", w.bn), define("CONSUMERS", w.consumers);
    define("PINGPONG", w.pingpong), define("CLUSTER", w.cluster), define("CLUSTER_ALONG_N", w.along_n);
    define("B_RESIDENT", w.resident), define("GROUP_M", 8);
    define("STAGES", room.stages), define("PANEL_BUFFERS", room.panels), define("DIRECT", w.direct != 0);
    define("DENSE", w.direct == kDense), define("ROW_BUFFERS", room.row_buffers);
    return text;
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<GemmSm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_gemm_sm90_tactic
