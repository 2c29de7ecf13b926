// SPDX-License-Identifier: Apache-2.0
// wootz.Attention of 16-bit floats on Hopper's matrix unit: attention_sm90.cu.
#include <algorithm>
#include <limits>
#include <numbers>

#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "backends/cuda/kernels/gemm/hopper_operands.h"
#include "base/error.h"

namespace wootz::cuda_attention_sm90_tactic {
namespace {

constexpr int64_t kRowBytes = 128, kQueryTileBytes = 64 * kRowBytes, kMostStages = 8;
constexpr int64_t kMostPackedFloats = int64_t{8} << 20;  // of a constant mask
constexpr int64_t kWholeTile = 16;                       // chunk: more steps than a tile has

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
int64_t round_up(int64_t x, int64_t to) { return ceil_div(x, to) * to; }

/// How queries and keys are cut, and how many stages of them shared memory holds.
struct Cut {
  int64_t consumers, query_tiles, tile;
  int64_t chunk;  // steps of 16 keys whose weights are computed while the matrix unit has those before
  int64_t stages = 0, query_slots = 0, bytes = 0;
};

struct Sizes {
  int64_t jobs, queries, keys, size, value_size;  // jobs: batch * heads

  explicit Sizes(const AttentionProblem& r)
      : jobs(r.heads),
        queries(r.view->input(0).dims[2]),
        keys(r.view->input(1).dims[2]),
        size(r.view->input(0).dims[3]),
        value_size(r.view->input(2).dims[3]) {}
};

/// Keys of a tile: all of up to `most`, else an even share.
int64_t tile_of(int64_t keys, int64_t most) {
  const int64_t tiles = ceil_div(keys, most);
  return tiles == 1 ? round_up(keys, 8) : round_up(ceil_div(keys, tiles), 16);
}

class AttentionSm90 final : public Tactic {
 public:
  explicit AttentionSm90(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.attention.sm90"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    if (!target_.arch.has_wgmma()) return "wgmma is there on sm_90a only";
    const AttentionProblem r = AttentionProblem::read(problem);
    if (!r.refusal.empty()) return r.refusal;
    const DType dtype = r.view->input(0).dtype;
    if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return "elements that have not 16 bits";
    const Sizes s(r);
    if (s.size > 128 || s.value_size > 128) return "heads of more than 128 elements";
    if (s.queries <= 16) return "too few queries to fill a tile of 64";
    if (s.keys == 0 || s.value_size == 0 || s.size == 0 || s.jobs == 0) return "no elements";
    const TensorDesc& y = *r.view->output(0);
    for (size_t i = 0; i < 3; ++i)
      if (!suits_copies(r.view->input(i).dims, r.view->strides(i)))
        return "queries, keys or values whose rows do not begin on multiples of 16 bytes";
    if (!suits_copies(y.dims, y.strides)) return "a result whose rows do not begin on multiples of 16 bytes";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    const Sizes s(AttentionProblem::read(problem));
    std::vector<TacticConfig> list;
    const auto add = [&](int64_t consumers, int64_t query_tiles, int64_t most_keys, int64_t chunk) {
      const int64_t tile = tile_of(s.keys, most_keys);
      TacticConfig config{
          {{"consumers", consumers}, {"tiles", query_tiles}, {"keys", tile}, {"chunk", chunk}}};
      const Cut cut = cut_of(config, s);
      config.values[1].second = cut.query_tiles;
      const int64_t registers = tile / 2 + s.value_size / 2;
      const bool fits = cut.stages >= 2 && registers <= (consumers == 3 ? 140 : 192);
      if (fits && std::find(list.begin(), list.end(), config) == list.end()) list.push_back(config);
    };
    const int64_t all = ceil_div(s.queries, 64);
    // Tiles of a head share its keys where that leaves work for every multiprocessor.
    const int64_t share =
        std::clamp<int64_t>(all * s.jobs / target_.multiprocessors, 1, std::min<int64_t>(all, 4));
    if (s.keys <= 256) {
      add(3, share, 256, kWholeTile), add(2, share, 256, 4), add(3, share, 256, 4);
      if (share > 2) add(3, 2, 256, kWholeTile);
    }
    // One tile a block where two would leave multiprocessors without work.
    const bool few = s.jobs * ceil_div(all, 2) < target_.multiprocessors;
    if (s.keys > 128)
      for (int64_t most : {128, 192}) {
        if (few) add(1, 1, most, 4);
        add(2, 2, most, 4), add(3, 3, most, kWholeTile);
      }
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    const AttentionProblem r = AttentionProblem::read(problem);
    const Sizes s(r);
    const Cut cut = cut_of(config, s);
    if (!packs_mask(r, cut)) return {};
    return {packed_mask(r, s, cut)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    if (auto why = refusal(problem)) throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const AttentionProblem r = AttentionProblem::read(problem);
    const MainView& view = *r.view;
    const Sizes s(r);
    const Cut cut = cut_of(config.values.empty() ? configs(problem).front() : config, s);
    const TensorDesc &q = view.input(0), &k = view.input(1), &v = view.input(2), &y = *view.output(0);
    CudaGeometry geometry;
    const int64_t jobs = s.jobs * ceil_div(ceil_div(s.queries, 64), cut.query_tiles);
    geometry.grid.x = static_cast<unsigned>(std::min<int64_t>(jobs, target_.multiprocessors));
    geometry.block.x = static_cast<unsigned>(128 * (cut.consumers + 1));
    geometry.shared_bytes = static_cast<size_t>(cut.bytes);
    geometry.early_start = true;
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaLaunch& launch =
        kernel->add(make_cuda_source("attention/attention_sm90.cu", text(r, cut)), "attention", geometry);
    launch.map_input(view.input_index(0), map(q.dtype, q.dims, view.strides(0), 64));
    launch.map_input(view.input_index(1), map(k.dtype, k.dims, view.strides(1), cut.tile));
    launch.map_input(view.input_index(2), map(v.dtype, v.dims, view.strides(2), round_up(cut.tile, 16)));
    launch.map_output(view.output_index(0), map(y.dtype, y.dims, y.strides, 16));
    if (!packed.empty())
      launch.constant(packed.at(0));
    else if (view.has_input(3))
      launch.input(view.input_index(3));
    else
      launch.null();
    return kernel;
  }

 private:
  /// Elements adjacent, every other step a multiple of 16 bytes.
  static bool suits_copies(const Dims& dims, const Dims& strides) {
    for (size_t d = 0; d < 3; ++d)
      if (dims[d] > 1 && (strides[d] <= 0 || strides[d] % 8 != 0)) return false;
    return dims[3] == 1 || strides[3] == 1;
  }

  /// Boxes of `rows` x 64 elements of one head.
  static TensorMapSpec map(DType dtype, const Dims& dims, const Dims& strides, int64_t rows) {
    TensorMapSpec spec;
    spec.type = dtype == DType::kBFloat16 ? cuda::MapType::kBFloat16 : cuda::MapType::kFloat16;
    for (size_t d : {3, 2, 1, 0}) {
      spec.dims.push_back(static_cast<uint64_t>(dims[d]));
      if (d < 3) spec.strides.push_back(static_cast<uint64_t>(dims[d] > 1 ? strides[d] : 8) * 2);
    }
    spec.box = {64, static_cast<uint32_t>(rows), 1, 1};
    return spec;
  }

  Cut cut_of(const TacticConfig& config, const Sizes& s) const {
    Cut cut{config.get("consumers", 2), config.get("tiles", 2), config.get("keys", tile_of(s.keys, 256)),
            config.get("chunk", 4)};
    const bool one_tile = s.keys <= cut.tile;
    if (!one_tile) cut.query_tiles = std::min(cut.query_tiles, cut.consumers);
    const int64_t panels = ceil_div(s.size, 64), value_panels = ceil_div(s.value_size, 64);
    const int64_t slot = std::max(panels, value_panels) * kQueryTileBytes;
    const int64_t stage = (panels * cut.tile + value_panels * round_up(cut.tile, 16)) * kRowBytes;
    const int64_t left = static_cast<int64_t>(target_.shared_bytes_per_block) - 1024;
    // A consumer has its tile, the one whose results leave and one that comes.
    const int64_t fewest = 2 * cut.consumers, wanted = 3 * cut.consumers;
    cut.stages = std::min(kMostStages, (left - fewest * slot) / stage);
    cut.query_slots = std::clamp((left - cut.stages * stage) / slot, fewest, wanted);
    cut.bytes = cut.query_slots * slot + cut.stages * stage + 8 * (2 * cut.query_slots + 3 * cut.stages);
    return cut;
  }

  /// Batches and heads that have masks of their own, and the floats of the mask as the kernel reads it.
  static int64_t mask_batches(const AttentionProblem& r) {
    const Dims& dims = r.view->input(3).dims;
    return dims.size() == 4 ? std::max<int64_t>(dims[0], 1) : 1;
  }
  static int64_t mask_heads(const AttentionProblem& r) {
    const Dims& dims = r.view->input(3).dims;
    return dims.size() >= 3 && dims[dims.size() - 3] > 1 ? dims[dims.size() - 3] : 1;
  }
  static int64_t packed_floats(const AttentionProblem& r, const Sizes& s, const Cut& cut) {
    return mask_batches(r) * mask_heads(r) * ceil_div(s.queries, 64) * 64 * ceil_div(s.keys, cut.tile) *
           cut.tile;
  }
  /// Only a mask that knows the queries and keys itself: packed weights serve every shape.
  static bool packs_mask(const AttentionProblem& r, const Cut& cut) {
    if (!r.view->has_input(3) || !r.view->input(3).constant) return false;
    const Dims& dims = r.view->input(3).dims;
    const bool has_all = dims.size() >= 2 && dims.back() > 1 && dims[dims.size() - 2] > 1;
    return has_all && packed_floats(r, Sizes(r), cut) <= kMostPackedFloats;
  }

  /// In the order of attention_sm90.cu's terms_of().
  static Tensor packed_mask(const AttentionProblem& r, const Sizes& s, const Cut& cut) {
    const TensorDesc& mask = r.view->input(3);
    const int64_t batches = mask_batches(r), heads = mask_heads(r);
    const Dims strides =
        *broadcast_to(mask.dims, contiguous_strides(mask.dims), {batches, heads, s.queries, s.keys});
    const std::vector<double> values = mask.constant->to_doubles();
    Tensor packed = Tensor::zeros(DType::kFloat32, {packed_floats(r, s, cut)});
    float* to = packed.as<float>();
    for (int64_t bh = 0; bh < batches * heads; ++bh)
      for (int64_t tile = 0; tile < ceil_div(s.queries, 64) * ceil_div(s.keys, cut.tile); ++tile)
        for (int64_t i = 0; i < 64 * cut.tile; ++i) {
          const int64_t part = i / 128 % (cut.tile / 8), warp = i / 128 / (cut.tile / 8), lane = i / 4 % 32;
          const int64_t row = tile / ceil_div(s.keys, cut.tile) * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
          const int64_t key = tile % ceil_div(s.keys, cut.tile) * cut.tile + part * 8 + lane % 4 * 2 + i % 2;
          double term = key < s.keys ? 0 : -std::numeric_limits<double>::infinity();
          if (key < s.keys && row < s.queries)
            term = values[static_cast<size_t>(bh / heads * strides[0] + bh % heads * strides[1] +
                                              row * strides[2] + key * strides[3])];
          *to++ = static_cast<float>(term * std::numbers::log2e);
        }
    return packed;
  }

  static std::string text(const AttentionProblem& r, const Cut& cut) {
    std::string text =
        "#include \"base/device.cuh\"\n#include \"base/elements.cuh\"\n#include \"base/scalar.cuh\"\n"
        "#define CLUSTER 1\n#include \"gemm/sm90.cuh\"\nstruct P {\n" +
        r.constants + "};\n";
    const auto define = [&](const char* name, int64_t value) {
      text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
    };
    define("TILE", cut.tile), define("QUERY_TILES", cut.query_tiles), define("CONSUMERS", cut.consumers);
    define("STAGES", cut.stages), define("QUERY_SLOTS", cut.query_slots);
    define("CHUNK", cut.chunk);
    const bool packs = packs_mask(r, cut);
    define("MASK_PACKED", packs), define("MASK_HEADS", packs ? mask_heads(r) : 1);
    const DType dtype = r.view->input(0).dtype;
    return text + wgmma_source(cut.tile, dtype, OperandA::kShared, OperandB::kAlongK, "wgmma_scores") +
           wgmma_source(round_up(r.view->input(2).dims[3], 8), dtype, OperandA::kRegisters, OperandB::kAlongN,
                        "wgmma_values");
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<AttentionSm90>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_attention_sm90_tactic
