// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "quantize/collect.h"
#include "quantize/targets.h"

namespace wootz {

/// Cross-layer equalization (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
/// Correction", ICCV 2019): where one convolution feeds another through nothing or through Relu, a factor for
/// each channel between them makes the ranges of both weights alike and leaves the result as it is. Returns
/// the number of pairs.
size_t equalize_convolutions(Graph& graph);

/// SmoothQuant's balancing (Xiao et al., ICML 2023): activations that feed products are divided, and the
/// weights' rows multiplied, by largest|x|^share / largest|w|^(1-share) of each channel. The division goes
/// into the LayerNormalization before, or becomes a Mul where others read its result too. Returns the number
/// of activations balanced.
size_t balance_activations(Graph& graph, const std::vector<QuantTarget>& targets,
                           const std::map<std::string, ActivationStats>& stats, double share);

}  // namespace wootz
