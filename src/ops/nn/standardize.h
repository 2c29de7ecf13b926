// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <span>

#include "ops/double_math.h"

namespace wootz {

struct Moments {
  double mean = 0, inverse_deviation = 0;
};

/// Of x, which has elements: population variance, two passes.
inline Moments moments_of(std::span<const double> x, double epsilon) {
  const auto n = static_cast<double>(x.size());
  const double mean = sum_of(x) / n;
  return {mean, 1 / std::sqrt(squares_around(mean, x) / n + epsilon)};
}

/// x <- (x - mean) / sqrt(variance + epsilon).
inline Moments standardize(std::span<double> x, double epsilon) {
  const Moments m = moments_of(x, epsilon);
  scale_all(x, m.mean, m.inverse_deviation);
  return m;
}

}  // namespace wootz
