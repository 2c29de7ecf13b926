// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/norm/row_plan.h"

namespace wootz::cuda_norm_tactic {
namespace {

LaunchPlan plan_norm(const Problem& problem, const TacticConfig& config) {
  return plan_rows(problem, config,
                   {"LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization",
                    "LpNormalization", "MeanVarianceNormalization"});
}

}  // namespace

void register_tactic(CudaTactics& tactics) {
  PlannedTraits traits;
  traits.configs.push_back(TacticConfig{{{"even", 1}}});
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.norm.rows", plan_norm, traits));
}

}  // namespace wootz::cuda_norm_tactic
