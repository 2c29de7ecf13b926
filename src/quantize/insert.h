// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "quantize/calibration.h"
#include "quantize/targets.h"
#include "quantize/weights.h"

namespace wootz {

struct InsertOptions {
  bool per_channel = true;
  bool sums = false, fused_sums = false;
  bool float8 = false;  // float8e4m3fn instead of integers; biases stay float32
  /// By activation; where given, the mean error of rounding leaves the bias.
  std::map<std::string, ChannelMeans> means;
};

/// The parameters of an activation under these options.
QuantParameters activation_parameters(const ActivationRange& range, bool is_signed, bool float8);

/// Puts QuantizeLinear and DequantizeLinear around the targets' operands: activations as the calibration
/// says, weights int8, biases of Conv and Gemm int32 with the product of both scales. What feeds a
/// convolution is read in 8 bits by everything behind it; what feeds only products, by these alone. Targets
/// without a range stay float32: returned, with the reason.
std::vector<QuantizedNode> insert_quantization(Graph& graph, const std::vector<QuantTarget>& targets,
                                               const Calibration& calibration, const InsertOptions& options);

/// Both operands of Add nodes that feed no product directly but join convolutions: those that `sums` gives 8
/// bits to. `fused`: one operand of each stays float, the result of a convolution that nothing else reads and
/// whose kernel can add the other.
std::vector<Value*> sum_operands(const Graph& graph, const std::vector<QuantTarget>& targets, bool fused);

}  // namespace wootz
