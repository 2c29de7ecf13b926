// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "ir/graph.h"

namespace wootz {

/// Binds the symbols of the graph's inputs to concrete dims (one per input; rank and every dimension are
/// checked against the declared expressions, and the graph's equalities). Throws Error(kInvalidArgument):
/// input, axis, expected, found.
Bindings bind_shapes(const Graph& graph, std::span<const Dims> input_dims);

}  // namespace wootz
