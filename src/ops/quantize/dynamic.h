// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

namespace wootz {

/// Scale and zero point of DynamicQuantizeLinear, in float32 arithmetic as the specification's function body
/// has it.
struct DynamicScale {
  float scale = 1;
  float zero_point = 0;  // in [0, 255]

  /// x quantized to uint8.
  double quantize(double x) const {
    return std::clamp(
        std::nearbyint(static_cast<double>(static_cast<float>(x) / scale)) + static_cast<double>(zero_point),
        0.0, 255.0);
  }
};

inline DynamicScale dynamic_scale(std::span<const double> x) {
  double low = 0, high = 0;
  for (double v : x) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  DynamicScale s;
  s.scale = (static_cast<float>(high) - static_cast<float>(low)) / 255.0f;
  if (s.scale == 0) s.scale = 1;  // all elements are 0
  s.zero_point = std::nearbyint(std::clamp(-static_cast<float>(low) / s.scale, 0.0f, 255.0f));
  return s;
}

}  // namespace wootz
