// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/launch_plan.h"
#include "backends/cuda/cuda_target.h"

namespace wootz {

using PlanFunction = LaunchPlan (*)(const Problem&, const TacticConfig&);

/// What a planned tactic may say besides its plan.
struct PlannedTraits {
  std::vector<TacticConfig> configs = {TacticConfig{}};  // best guess first
  int oldest_arch = 75;
};

/// A tactic whose kernels are generated: the plan is text, CudaKernel compiles and launches it.
class PlannedTactic final : public Tactic {
 public:
  PlannedTactic(const CudaTarget& target, std::string_view id, PlanFunction function,
                PlannedTraits traits = {})
      : target_(target), id_(id), plan_(function), traits_(std::move(traits)) {}

  std::string_view id() const override { return id_; }
  std::optional<std::string> refusal(const Problem& problem) const override;
  std::vector<TacticConfig> configs(const Problem&) const override { return traits_.configs; }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed&) const override;
  LaunchPlan plan(const Problem& problem, const TacticConfig& config) const;

 private:
  CudaTarget target_;
  std::string_view id_;
  PlanFunction plan_;
  PlannedTraits traits_;
};

/// A launch's whole translation unit but for device.cuh: elements, scalar functions, the headers that it
/// names, the kernel.
std::string planned_text(const PlannedLaunch& launch);

}  // namespace wootz
