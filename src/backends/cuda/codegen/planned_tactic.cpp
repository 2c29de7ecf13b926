// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/planned_tactic.h"

#include "backends/cuda/cuda_kernel.h"
#include "base/error.h"

namespace wootz {

std::string planned_text(const PlannedLaunch& launch) {
  std::string text(cuda_source("base/elements.cuh"));
  text += cuda_source("base/scalar.cuh");
  for (const std::string& header : launch.headers) text += cuda_source(header);
  return text + launch.code;
}

LaunchPlan PlannedTactic::plan(const Problem& problem, const TacticConfig& config) const {
  if (!target_.arch.at_least(traits_.oldest_arch))
    return LaunchPlan::refuse("an architecture older than sm_" + std::to_string(traits_.oldest_arch));
  return plan_(problem, config);
}

std::optional<std::string> PlannedTactic::refusal(const Problem& problem) const {
  LaunchPlan plan = this->plan(problem, {});
  if (plan.refusal.empty()) return std::nullopt;
  return std::move(plan.refusal);
}

std::unique_ptr<Kernel> PlannedTactic::make_kernel(const Problem& problem, const TacticConfig& config,
                                                   const Packed&) const {
  const LaunchPlan plan = this->plan(problem, config);
  if (!plan.refusal.empty())
    throw Error(ErrorKind::kInternal, std::string(id_) + " " + config.to_string() +
                                          " refuses what the tactic serves: " + plan.refusal);
  auto kernel = std::make_unique<CudaKernel>(target_, problem);
  kernel->set_workspace(plan.workspace_bytes);
  for (const PlannedLaunch& launch : plan.launches) {
    if (launch.code.empty()) {
      kernel->add_clear(launch.clear_offset, launch.clear_bytes);
      continue;
    }
    cuda::Source source;
    source.name = std::string(id_);
    source.text = std::string(cuda_source("base/device.cuh")) + planned_text(launch);
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>(launch.grid);
    geometry.block.x = launch.threads;
    geometry.early_start = target_.arch.at_least(90);
    CudaLaunch& parameters = kernel->add(source, launch.function.c_str(), geometry);
    for (const PlannedOperand& operand : launch.operands) {
      switch (operand.kind) {
        case PlannedOperand::Kind::kInput: parameters.input(operand.index); break;
        case PlannedOperand::Kind::kOutput: parameters.output(operand.index); break;
        case PlannedOperand::Kind::kWorkspace: parameters.workspace(operand.offset); break;
      }
    }
  }
  return kernel;
}

}  // namespace wootz
