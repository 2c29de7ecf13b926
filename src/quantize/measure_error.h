// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "quantize/collect.h"
#include "quantize/insert.h"

namespace wootz {

/// Runs both graphs on the samples. Fills the nodes' signal-to-noise ratios on the first sample (a node's own
/// error: the float32 graph's input, rounded, through the rounded weights) and returns the outputs' errors.
std::vector<QuantizedOutput> measure_error(const Graph& model, const Graph& quantized,
                                           const CheckedSamples& samples, size_t most, int threads,
                                           std::vector<QuantizedNode>& nodes,
                                           const std::function<void(size_t)>& report);

}  // namespace wootz
