// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/pointwise/pointwise_plan.h"

namespace wootz::cuda_pointwise_vectors_tactic {

void register_tactic(CudaTactics& tactics) {
  PlannedTraits traits;
  for (int64_t unroll : {1, 2, 4}) traits.configs.push_back(TacticConfig{{{"unroll", unroll}}});
  tactics.add(
      std::make_unique<PlannedTactic>(tactics.target(), "cuda.pointwise.vectors", plan_pointwise, traits));
}

}  // namespace wootz::cuda_pointwise_vectors_tactic
