// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <string_view>

#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// Softmax, LogSoftmax, Hardmax and the normalizations of rows, with a pointwise tail; accumulation in
/// float32. Rows of neighbours are held in registers between the passes; others are read once a pass. Config
/// `threads`: threads a row (0: by its length); `even`: as few as have equal shares of it.
LaunchPlan plan_rows(const Problem& problem, const TacticConfig& config,
                     std::initializer_list<std::string_view> ops);

}  // namespace wootz
