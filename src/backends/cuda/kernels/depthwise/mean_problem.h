// SPDX-License-Identifier: Apache-2.0
// A convolution with a pointwise tail whose result's mean over each image and channel is a second result:
// what a squeeze-and-excite gate is made from.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/region.h"

namespace wootz {

struct MeanProblem {
  std::unique_ptr<Graph> graph;  // owns the plain region
  Problem plain;                 // without the mean; inputs keep their numbers

  /// Why the region is something else, or nothing. Result 0 is the convolution's, [N, C, H, W]; result 1 the
  /// mean, [N, C, 1, 1].
  static std::optional<std::string> make(const Problem& problem, MeanProblem& mean);
};

}  // namespace wootz
