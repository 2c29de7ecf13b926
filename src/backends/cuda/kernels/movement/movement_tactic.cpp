// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/movement/movement_plan.h"

namespace wootz::cuda_movement_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.movement.copies", plan_movement));
}

}  // namespace wootz::cuda_movement_tactic
