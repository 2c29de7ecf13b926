// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/norm/row_plan.h"

namespace wootz::cuda_softmax_tactic {
namespace {

LaunchPlan plan_softmax(const Problem& problem, const TacticConfig& config) {
  return plan_rows(problem, config, {"Softmax", "LogSoftmax", "Hardmax"});
}

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PlannedTactic>(tactics.target(), "cuda.softmax.rows", plan_softmax));
}

}  // namespace wootz::cuda_softmax_tactic
