// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "quantize/collect.h"
#include "quantize/insert.h"

namespace wootz {

/// The model as given, as it was before rounding (equalized, balanced; null: it was not rounded by ranges),
/// and as it is written.
struct ComparedGraphs {
  const Graph& model;
  const Graph* prepared;
  const Graph& quantized;
};

/// Runs the graphs on the samples. Fills the nodes' signal-to-noise ratios on the first sample (a node's own
/// error: the prepared graph's input, rounded, through the rounded weights) and returns the outputs' errors.
std::vector<QuantizedOutput> measure_error(const ComparedGraphs& graphs, const CheckedSamples& samples,
                                           size_t most, int threads, std::vector<QuantizedNode>& nodes,
                                           const std::function<void(size_t)>& report);

}  // namespace wootz
