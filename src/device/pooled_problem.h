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
  /// 2: windows of 2x2 without padding, the last ones may reach over the end; 3: of 3x3, padded by 1 all
  /// around.
  int64_t window = 2;

  /// Why the region is something else, or nothing.
  static std::optional<std::string> make(const Problem& problem, PooledProblem& pooled);
};

}  // namespace wootz
