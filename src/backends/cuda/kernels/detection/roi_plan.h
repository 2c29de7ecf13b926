// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// RoiAlign and MaxRoiPool: a thread a bin and channel.
LaunchPlan plan_roi(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
