// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// wootz.Attention of float16 or bfloat16 on tensor cores (sm_80 and newer). Config `warps`: of 16 queries
/// each, in a block.
LaunchPlan plan_attention_tiles(const Problem& problem, const TacticConfig& config);
/// The same for few heads and queries: blocks of 16 queries whose warps (config `warps`, at most) share out
/// the keys.
LaunchPlan plan_attention_split(const Problem& problem, const TacticConfig& config);
/// wootz.Attention of float32 by multiplications. Config `rows`: queries of a
/// block, 16, 32 or 64 (fewer where 48 KB of shared memory do not hold them).
LaunchPlan plan_attention_floats(const Problem& problem, const TacticConfig& config);
/// wootz.Attention of any float type, a warp for each query.
LaunchPlan plan_attention_warps(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
