// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/indexing/indexing_plan.h"

namespace wootz::cuda_indexing_tactic {

void register_tactic(CudaTactics& tactics) {
  const CudaTarget& target = tactics.target();
  tactics.add(std::make_unique<PlannedTactic>(target, "cuda.indexing.elements", plan_indexing));
  tactics.add(std::make_unique<PlannedTactic>(target, "cuda.indexing.scatter", plan_scatter));
  tactics.add(std::make_unique<PlannedTactic>(target, "cuda.indexing.lines", plan_lines));
  tactics.add(std::make_unique<PlannedTactic>(target, "cuda.indexing.formulas", plan_signal));
}

}  // namespace wootz::cuda_indexing_tactic
