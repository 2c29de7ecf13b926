// SPDX-License-Identifier: Apache-2.0
#include "cli/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wootz::cli {

bool has_stats(DType dtype) {
  return dtype != DType::kUndefined && dtype != DType::kString && dtype != DType::kComplex64 &&
         dtype != DType::kComplex128;
}

TensorStats stats_of(const Tensor& tensor) {
  TensorStats s;
  const std::vector<double> values = tensor.to_doubles();
  double sum = 0, squares = 0;
  for (const double v : values) {
    s.nans += std::isnan(v);
    s.infinities += std::isinf(v);
    s.zeros += v == 0;
    if (!std::isfinite(v)) continue;
    s.least = s.finite == 0 ? v : std::min(s.least, v);
    s.largest = s.finite == 0 ? v : std::max(s.largest, v);
    ++s.finite;
    sum += v;
  }
  if (s.finite == 0) return s;
  s.mean = sum / static_cast<double>(s.finite);
  // Halves first: the range of doubles can be wider than a double.
  const double half_range = s.largest / 2 - s.least / 2;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    squares += (v - s.mean) * (v - s.mean);
    const double share = half_range > 0 ? (v / 2 - s.least / 2) / half_range : 0;
    ++s.histogram[std::min(kHistogramBins - 1, static_cast<size_t>(share * kHistogramBins))];
  }
  s.deviation = std::sqrt(squares / static_cast<double>(s.finite));
  return s;
}

}  // namespace wootz::cli
