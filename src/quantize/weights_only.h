// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "quantize/targets.h"

namespace wootz {

/// Weights of MatMul and Gemm become int8 or float8e4m3fn, a scale an output channel, or uint4 with zero
/// points, in blocks of `options.block` along k (int8 too where options.block is not 0). Activations stay
/// float32. Throws kInvalidArgument for another type or block.
std::vector<QuantizedNode> quantize_weights_only(Graph& graph, const std::vector<QuantTarget>& targets,
                                                 const QuantizeOptions& options);

}  // namespace wootz
