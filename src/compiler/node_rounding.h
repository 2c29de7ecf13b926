// SPDX-License-Identifier: Apache-2.0
// What a node of the model adds to an error, and what its inputs brought, in an engine of lower precision.
#pragma once
#include <optional>
#include <span>

#include "ir/graph.h"

namespace wootz {

/// Relative to the largest magnitude of the model's result, at up to 256 elements.
struct NodeRounding {
  double own = 0;  // of the engine's result against the node as the model states it, on the engine's inputs
  double inherited = 0;  // of that against the model's result
};

/// `inputs` are the engine's values, in any float type, or constants of the model, and kNone for inputs left
/// out; `found` is the engine's first result and `model` the model's. Nothing for nodes with bodies, and
/// where the reference does not take the inputs.
std::optional<NodeRounding> node_rounding(const Node& node, std::span<const Datum> inputs,
                                          const Tensor& found, const Tensor& model);

}  // namespace wootz
