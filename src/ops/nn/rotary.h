// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace wootz {

/// Rotates the pairs of x (halves, or neighbours when interleaved) by the angles whose cosines and sines are
/// given; x has at least 2 * cos.size() elements, the rest stays.
inline void rotate_pairs(std::span<double> x, std::span<const double> cos, std::span<const double> sin,
                         bool interleaved) {
  const size_t half = cos.size();
  for (size_t i = 0; i < half; ++i) {
    double &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : half + i];
    const double real = cos[i] * a - sin[i] * b;
    b = sin[i] * a + cos[i] * b;
    a = real;
  }
}

}  // namespace wootz
