// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

/// Weights as int8 or float8e4m3fn around 0: w is about q * scales[channel].
struct QuantizedWeights {
  Tensor q;
  std::vector<float> scales;  // one, or one for each index of the axis
  int64_t axis = 0;

  float scale_of(int64_t channel) const { return scales.size() == 1 ? scales[0] : scales[size_t(channel)]; }
  /// As the runtime sees it.
  Tensor dequantized() const;
};

/// The largest magnitude becomes 127, or 448 of float8e4m3fn. `least` (empty, or one a channel) bounds the
/// scales from below.
QuantizedWeights quantize_weights(const Tensor& w, int64_t axis, bool per_channel,
                                  const std::vector<double>& least = {}, DType type = DType::kInt8);

/// The mean of each channel of an activation, as it is and as 8 bits give it.
struct ChannelMeans {
  std::vector<double> plain, rounded;
};

/// For each output channel: sum over input channels and taps of w * mean - dequantized * rounded mean, which
/// is what rounding both operands takes from the output on average. `depth_axis` has the input channels of
/// one group; `means` are of all input channels.
std::vector<double> mean_rounding_error(const Tensor& w, const QuantizedWeights& q, int64_t depth_axis,
                                        int64_t groups, const ChannelMeans& means);

/// f(flat index, channel along `axis`) for each element of dims.
template <class F>
void for_each_channel(const Dims& dims, int64_t axis, F&& f) {
  int64_t inner = 1, outer = 1;
  for (size_t i = 0; i < dims.size(); ++i) (static_cast<int64_t>(i) < axis ? outer : inner) *= dims[i];
  const int64_t channels = dims[static_cast<size_t>(axis)];
  inner /= channels;
  for (int64_t o = 0, at = 0; o < outer; ++o)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < inner; ++i, ++at) f(at, c);
}

}  // namespace wootz
