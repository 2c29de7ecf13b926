// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "ir/graph.h"

namespace wootz {

/// What stands in for a value that no extracted node computes: a constant, or an input of these dims.
struct Supply {
  std::optional<Tensor> constant;
  std::optional<Dims> dims;  // of a tensor input; absent: the rank is left open
};

/// The nodes of `from` (its own, not of its bodies) as a graph of their own, in their order. Whatever they or
/// their bodies read from outside is asked of `supply`, once a value. Outputs are those of `outputs` that the
/// nodes compute, else every value of theirs that none of them reads.
std::unique_ptr<Graph> extract(const Graph& from, const std::set<const Node*>& nodes,
                               std::span<const Value* const> outputs,
                               const std::function<Supply(const Value&)>& supply);

}  // namespace wootz
