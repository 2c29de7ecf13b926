// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/reduction/reduce_plan.h"

namespace wootz::cuda_reduce_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.reduce.groups", plan_reduce));
}

}  // namespace wootz::cuda_reduce_tactic
