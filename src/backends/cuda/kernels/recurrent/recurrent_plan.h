// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// LSTM, GRU and RNN of float32 and 16-bit floats with row-major operands, sums in float32.
LaunchPlan plan_recurrent(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
