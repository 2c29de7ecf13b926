// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "quantize/targets.h"

namespace wootz {

/// MatMul and Gemm become DynamicQuantizeLinear and MatMulInteger, LSTM becomes com.microsoft's
/// DynamicQuantizeLSTM: weights are int8, activations get their scale in every run. Convolutions stay.
std::vector<QuantizedNode> quantize_dynamically(Graph& graph, const std::vector<QuantTarget>& targets,
                                                const QuantizeOptions& options);

}  // namespace wootz
