// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "passes/pass.h"

namespace wootz {

/// The one wrapper around every pass: skips disabled ones, times, dumps the text before and after, cleans up
/// (dead nodes, duplicates) and verifies after a change. When a pass throws, the graph is saved and the error
/// names pass and file. A pass whose rules undo each other is stopped after kMostChanges changes and as many
/// again for every node; a remark says so.
constexpr int64_t kMostChanges = 256, kMostChangesPerNode = 16;
bool run_pass(Graph& graph, const Pass& pass, PassContext& context);

/// Runs the passes in order; with `repeat`, until a whole round changes nothing (at most 16 rounds, and a
/// remark when the last one still did). Types
/// are inferred again between rounds, since rewriting makes more of them known.
bool run_passes(Graph& graph, std::span<const Pass> passes, bool repeat, PassContext& context);

}  // namespace wootz
