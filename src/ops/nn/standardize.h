// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <span>

namespace wootz {

struct Moments {
  double mean = 0, inverse_deviation = 0;
};

/// x <- (x - mean) / sqrt(variance + epsilon), population variance, two passes.
inline Moments standardize(std::span<double> x, double epsilon) {
  Moments m;
  for (double v : x) m.mean += v;
  m.mean /= static_cast<double>(x.size());
  double variance = 0;
  for (double v : x) variance += (v - m.mean) * (v - m.mean);
  variance /= static_cast<double>(x.size());
  m.inverse_deviation = 1 / std::sqrt(variance + epsilon);
  for (double& v : x) v = (v - m.mean) * m.inverse_deviation;
  return m;
}

}  // namespace wootz
