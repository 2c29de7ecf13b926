// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// Resize with known scales or sizes, every mode: taps of each axis as tables in constant memory; a group of
/// channels a thread where they are neighbours.
LaunchPlan plan_resize(const Problem& problem, const TacticConfig& config);
/// GridSample over one to three spatial axes.
LaunchPlan plan_grid_sample(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
