// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/conv_weights.h"

namespace wootz {
namespace {

int64_t tap_count(const Dims& weights) { return weights[2] * (weights.size() == 4 ? weights[3] : 1); }

}  // namespace

PackedPanels conv_panel_shape(const PanelKernels& kernels, const Dims& weights, int64_t groups) {
  PackedPanels shape;
  shape.k = weights[1] * tap_count(weights);
  shape.n = weights[0] / groups;
  shape.panel = choose_panel(kernels, shape.n);
  shape.width = kernels.width;
  return shape;
}

Tensor pack_conv_weights(const PanelKernels& kernels, const Tensor& weights, int64_t groups) {
  const Dims& dims = weights.dims();
  const PackedPanels shape = conv_panel_shape(kernels, dims, groups);
  const int64_t channels = dims[1], taps = tap_count(dims), group_outputs = dims[0] / groups;
  Tensor packed = Tensor::zeros(DType::kFloat32, {groups * shape.floats()});
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t tap = 0; tap < taps; ++tap)
      pack_rows(shape, packed.as<float>() + g * shape.floats(), tap * channels, channels,
                weights.as<float>() + g * group_outputs * channels * taps + tap, taps, channels * taps);
  return packed;
}

}  // namespace wootz
