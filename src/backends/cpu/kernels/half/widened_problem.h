// SPDX-License-Identifier: Apache-2.0
// A 16-bit floating-point problem restated in float32.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/region.h"

namespace wootz {

struct WidenedProblem {
  std::unique_ptr<Graph> graph;  // owns the region
  Problem problem;               // 16-bit floats are float32, strides as they were

  /// Why the problem cannot be restated, or nothing. `constants`: convert the constants' data too; without it
  /// they are stand-ins that only tell that something is constant.
  static std::optional<std::string> make(const Problem& narrow, bool constants, WidenedProblem& widened);
};

bool is_half(DType dtype);
/// Elements from the first to the last of a strided operand.
int64_t storage_extent(const TensorDesc& desc);

}  // namespace wootz
