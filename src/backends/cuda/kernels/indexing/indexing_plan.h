// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// Operators whose output elements each come from one place, or are made from their own: Gather and its
/// relatives, Pad, Trilu, OneHot, Range and the like. Indices out of range are clamped: a kernel cannot
/// refuse.
LaunchPlan plan_indexing(const Problem& problem, const TacticConfig& config);
/// ScatterElements, ScatterND and TensorScatter: a copy of the data, then the updates. Repeated indices of a
/// reduction are taken in order.
LaunchPlan plan_scatter(const Problem& problem, const TacticConfig& config);
/// Window functions, shapes, RotaryEmbedding and Det.
LaunchPlan plan_signal(const Problem& problem, const TacticConfig& config);
/// CumSum and CumProd (a thread a line) and TopK (every element counts those before it).
LaunchPlan plan_lines(const Problem& problem, const TacticConfig& config);

}  // namespace wootz
