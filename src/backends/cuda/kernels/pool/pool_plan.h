// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// MaxPool (with indices), AveragePool and LpPool over one to three spatial axes: a thread a pixel, or a
/// pixel's group of channels where they are neighbours. Sums in float32.
LaunchPlan plan_pool(const Problem& problem, const TacticConfig& config);
/// LRN and MaxUnpool.
LaunchPlan plan_channel_window(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
