// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/attention/attention_plan.h"

namespace wootz::cuda_attention_tactic {

void register_tactic(CudaTactics& tactics) {
  PlannedTraits tiles;
  for (int64_t warps : {4, 2, 8, 7, 1}) tiles.configs.push_back(TacticConfig{{{"warps", warps}}});
  tiles.oldest_arch = 80;
  tactics.add(
      std::make_unique<PlannedTactic>(tactics.target(), "cuda.attention.tiles", plan_attention_tiles, tiles),
      CudaTactics::kSpecial);
  PlannedTraits split;
  split.configs.clear();
  for (int64_t warps : {8, 4, 2}) split.configs.push_back(TacticConfig{{{"warps", warps}}});
  split.oldest_arch = 80;
  tactics.add(
      std::make_unique<PlannedTactic>(tactics.target(), "cuda.attention.split", plan_attention_split, split),
      CudaTactics::kSpecial);
  PlannedTraits floats;
  floats.configs.clear();
  for (int64_t rows : {64, 32, 16}) floats.configs.push_back(TacticConfig{{{"rows", rows}}});
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.attention.floats",
                                              plan_attention_floats, floats));
  tactics.add(
      std::make_unique<PlannedTactic>(tactics.target(), "cuda.attention.warps", plan_attention_warps));
}

}  // namespace wootz::cuda_attention_tactic
