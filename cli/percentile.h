// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace wootz::cli {

/// The p-th percentile (0 to 100) of ascending values, at least one, by nearest rank.
double percentile(const std::vector<double>& sorted, double p);

}  // namespace wootz::cli
