// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/resize/resize_plan.h"

namespace wootz::cuda_resize_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.resize.elements", plan_resize));
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.resize.grid", plan_grid_sample));
}

}  // namespace wootz::cuda_resize_tactic
