// SPDX-License-Identifier: Apache-2.0
#include "cli/percentile.h"

#include <algorithm>
#include <cmath>

namespace wootz::cli {

double percentile(const std::vector<double>& sorted, double p) {
  const auto rank = static_cast<size_t>(std::ceil(p / 100 * double(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace wootz::cli
