// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// Transpose, Concat, Split, Slice, Expand, Tile, DepthToSpace, SpaceToDepth, Relayout and the reshaping
/// operators as strided copies in one kernel.
LaunchPlan plan_movement(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
