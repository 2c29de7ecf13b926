// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// QuantizeLinear and DequantizeLinear: one scale, one along an axis, or blocks; a vector of neighbours a
/// thread where the scale does not vary among them.
LaunchPlan plan_quantize(const Problem& problem, const TacticConfig& config);
/// DynamicQuantizeLinear: the range in two steps, then the data.
LaunchPlan plan_dynamic_quantize(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
