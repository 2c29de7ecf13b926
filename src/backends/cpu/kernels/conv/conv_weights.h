// SPDX-License-Identifier: Apache-2.0
// Convolution weights packed for products over channels-last pixels.
#pragma once
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/packed_panels.h"

namespace wootz {

/// The shape of one group's packed weights: k runs over taps, then channels. Groups follow each other.
PackedPanels conv_panel_shape(const PanelKernels& kernels, const Dims& weights, int64_t groups);
/// The packed weights of all groups; weights are [M, C / group, kH, kW].
Tensor pack_conv_weights(const PanelKernels& kernels, const Tensor& weights, int64_t groups);

}  // namespace wootz
