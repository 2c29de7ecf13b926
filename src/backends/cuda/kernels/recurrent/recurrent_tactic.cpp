// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/recurrent/recurrent_plan.h"

namespace wootz::cuda_recurrent_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.recurrent.steps", plan_recurrent));
}

}  // namespace wootz::cuda_recurrent_tactic
