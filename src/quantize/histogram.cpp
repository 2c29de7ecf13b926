// SPDX-License-Identifier: Apache-2.0
#include "quantize/histogram.h"

#include <algorithm>
#include <cmath>

namespace wootz {

void Histogram::widen(double to) {
  if (limit_ == 0) {
    limit_ = to;
    bins_.assign(kBins, 0);
    return;
  }
  while (limit_ < to) {
    // Pairs of bins merge towards the middle, which stays where it is.
    std::vector<int64_t> wide(kBins, 0);
    for (size_t i = 0; i < kBins; ++i) wide[kBins / 4 + i / 2] += bins_[i];
    bins_ = std::move(wide);
    limit_ *= 2;
  }
}

bool Histogram::add(std::span<const float> values) {
  float low = 0, high = 0;
  bool finite = true;
  for (float v : values) {
    finite &= std::isfinite(v);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (!finite) return false;
  low_ = std::min(low_, double(low));
  high_ = std::max(high_, double(high));
  total_ += static_cast<int64_t>(values.size());
  const double most = std::max(-double(low), double(high));
  if (most > limit_) widen(most);
  if (limit_ == 0) {
    zeros_ += static_cast<int64_t>(values.size());
    return true;
  }
  const double per_unit = kBins / (2 * limit_);
  for (float v : values) {
    if (v == 0)
      ++zeros_;
    else
      ++bins_[std::min(kBins - 1, static_cast<size_t>((double(v) + limit_) * per_unit))];
  }
  return true;
}

}  // namespace wootz
