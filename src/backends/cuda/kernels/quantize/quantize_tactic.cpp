// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/quantize/quantize_plan.h"

namespace wootz::cuda_quantize_tactic {

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.quantize.elements", plan_quantize));
  tactics.add(
      std::make_unique<PlannedTactic>(tactics.target(), "cuda.quantize.dynamic", plan_dynamic_quantize));
}

}  // namespace wootz::cuda_quantize_tactic
