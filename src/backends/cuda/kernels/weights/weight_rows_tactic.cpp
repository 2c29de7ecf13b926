// SPDX-License-Identifier: Apache-2.0
// Few rows times weights of few bits, which are unpacked in registers: on every GPU in float32, on tensor
// cores (sm_80 and newer) where the rows are of 16 bits.
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/weights/weight_rows_kernel.h"
#include "backends/cuda/kernels/weights/weight_tiles.h"
#include "base/error.h"

namespace wootz::cuda_weight_rows_tactic {
namespace {

WeightRowsForm form_of(const WeightTiles& tiles) {
  return {tiles.form, tiles.block, 16 * tiles.steps(), tiles.has_zeros, tiles.zero, false};
}

class WeightRows final : public Tactic {
 public:
  explicit WeightRows(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.gemm.weight_rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    Contraction c;
    WeightTiles tiles;
    return read(problem, c, tiles);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    Contraction c;
    WeightTiles tiles;
    read(problem, c, tiles);
    return weight_rows_configs(target_, c, form_of(tiles));
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    Contraction c;
    WeightTiles tiles;
    read(problem, c, tiles);
    Packed packed{tiles.pack_weights(*c.few_bits), tiles.pack_scales(*c.few_bits)};
    if (tiles.has_zeros) packed.push_back(tiles.pack_zeros(*c.few_bits));
    return packed;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    Contraction c;
    WeightTiles tiles;
    if (auto why = read(problem, c, tiles))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return make_weight_rows(target_, problem, c, form_of(tiles), config, packed);
  }

 private:
  static std::optional<std::string> read(const Problem& problem, Contraction& c, WeightTiles& tiles) {
    if (auto why = Contraction::read(problem, c)) return why;
    if (!c.few_bits) return "weights that are not of few bits";
    if (auto why = WeightTiles::read(*c.few_bits, tiles)) return why;
    return weight_rows_refusal(c);
  }

  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<WeightRows>(tactics.target()), CudaTactics::kSpecial);
}

}  // namespace wootz::cuda_weight_rows_tactic
