// SPDX-License-Identifier: Apache-2.0
#include "quantize/weights.h"

#include <algorithm>
#include <cmath>

#include "ir/element.h"

namespace wootz {
namespace {

constexpr double kTop = 127, kFloat8Top = 448;

}  // namespace

QuantizedWeights quantize_weights(const Tensor& w, int64_t axis, bool per_channel,
                                  const std::vector<double>& least, DType type) {
  const bool floats = type == DType::kFloat8E4M3FN;
  const int64_t channels = w.dims()[static_cast<size_t>(axis)];
  std::vector<double> most(static_cast<size_t>(channels), 0);
  const float* p = w.as<float>();
  if (w.size() > 0)
    for_each_channel(w.dims(), axis, [&](int64_t at, int64_t c) {
      most[static_cast<size_t>(c)] = std::max(most[static_cast<size_t>(c)], std::fabs(double(p[at])));
    });
  for (size_t c = 0; c < most.size(); ++c) {
    most[c] /= floats ? kFloat8Top : kTop;
    if (!least.empty()) most[c] = std::max(most[c], least[c]);
  }
  if (!per_channel) most.assign(1, most.empty() ? 0 : *std::max_element(most.begin(), most.end()));
  QuantizedWeights q{Tensor::zeros(type, w.dims()), {}, axis};
  for (double m : most) q.scales.push_back(m > 0 ? static_cast<float>(m) : 1.0f);
  if (w.size() > 0)
    for_each_channel(w.dims(), axis, [&](int64_t at, int64_t c) {
      const float v = p[at] / q.scale_of(c);
      const double rounded = std::clamp(std::nearbyint(double(v)), -kTop, kTop);
      q.q.as<uint8_t>()[at] =
          floats ? small_from_float(type, v, true) : static_cast<uint8_t>(static_cast<int8_t>(rounded));
    });
  return q;
}

Tensor QuantizedWeights::dequantized() const {
  Tensor w = Tensor::zeros(DType::kFloat32, q.dims());
  const std::vector<double> values = q.to_doubles();
  if (w.size() > 0)
    for_each_channel(q.dims(), axis, [&](int64_t at, int64_t c) {
      w.as<float>()[at] = static_cast<float>(values[static_cast<size_t>(at)]) * scale_of(c);
    });
  return w;
}

std::vector<double> mean_rounding_error(const Tensor& w, const QuantizedWeights& q, int64_t depth_axis,
                                        int64_t groups, const ChannelMeans& means) {
  const Dims& dims = w.dims();
  const int64_t channels = dims[static_cast<size_t>(q.axis)], depth = dims[static_cast<size_t>(depth_axis)];
  std::vector<int64_t> depth_of(static_cast<size_t>(w.size()));
  for_each_channel(dims, depth_axis, [&](int64_t at, int64_t d) { depth_of[static_cast<size_t>(at)] = d; });
  std::vector<double> error(static_cast<size_t>(channels), 0);
  const float* p = w.as<float>();
  for_each_channel(dims, q.axis, [&](int64_t at, int64_t c) {
    const double rounded = double(q.q.as<int8_t>()[at]) * double(q.scale_of(c));
    const int64_t group = c / (channels / groups);
    const auto from = static_cast<size_t>(group * depth + depth_of[static_cast<size_t>(at)]);
    error[static_cast<size_t>(c)] += double(p[at]) * means.plain[from] - rounded * means.rounded[from];
  });
  return error;
}

}  // namespace wootz
