// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// One kernel for a region of pointwise nodes whose results have one shape. Threads walk the results in the
/// order of memory, several neighbours at a time with 16-byte accesses; config `unroll`: groups of neighbours
/// a thread.
LaunchPlan plan_pointwise(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
