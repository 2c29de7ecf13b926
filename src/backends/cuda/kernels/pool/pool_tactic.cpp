// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/pool/pool_plan.h"

namespace wootz::cuda_pool_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.pool.elements", plan_pool));
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.pool.channels", plan_channel_window));
}

}  // namespace wootz::cuda_pool_tactic
