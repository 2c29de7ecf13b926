// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/graph.h"
#include "memory/placement.h"

namespace wootz {

/// What a step computes and moves at the shapes of a plan.
struct StepWork {
  double flops = 0;  // multiply-adds count as two
  double bytes = 0;  // operands read once and results written once; what stays inside a region is free
};

/// 0 where sizes are known only while running.
StepWork work_of_step(const Node& node, const ShapePlan& plan, const Bindings& bindings);

/// When a value of the arena is first written and last read, as indices of steps.
struct ValueSpan {
  const Value* value = nullptr;
  size_t offset_bytes = 0, size_bytes = 0;
  size_t first = 0, last = 0;
};

/// Every value that lies in the arena, in the order of its first step. Values that share memory (views,
/// pieces of a concatenation, results in place) each have an entry.
std::vector<ValueSpan> arena_spans(const Graph& graph, const ShapePlan& plan);

}  // namespace wootz
