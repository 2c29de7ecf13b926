// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// The Reduce operators, global pools, ArgMax and ArgMin, with a pointwise tail. Sums of floats in float32.
/// Config `threads`: threads a row (0: by the row's length).
LaunchPlan plan_reduce(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
