// SPDX-License-Identifier: Apache-2.0
// A convolution with a pointwise tail whose result goes through a MaxPool of 2x2 windows in steps of 2 that
// nothing else reads it before: only a quarter of the pixels leaves the kernel.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/region.h"

namespace wootz {

struct PooledProblem {
  std::unique_ptr<Graph> graph;  // owns the plain region
  /// The convolution and its tail; inputs keep their numbers, the result is dense and channels-last.
  Problem plain;
  TensorDesc result;  // of the pool, [N, C, H, W]

  /// Why the region is something else, or nothing.
  static std::optional<std::string> make(const Problem& problem, PooledProblem& pooled);
};

}  // namespace wootz
