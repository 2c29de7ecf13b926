// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/movement/movement_plan.h"

namespace wootz {

void register_cuda_movement_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.movement.copies", plan_movement));
}

}  // namespace wootz
