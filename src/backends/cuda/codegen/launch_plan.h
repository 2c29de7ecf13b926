// SPDX-License-Identifier: Apache-2.0
// A problem's kernels as text with their launches: what a tactic plans, before anything is compiled.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// The address of a kernel's parameter. Every parameter of a planned kernel is an address.
struct PlannedOperand {
  enum class Kind : uint8_t { kInput, kOutput, kWorkspace };
  Kind kind = Kind::kInput;
  size_t index = 0;   // of the problem's input or output
  size_t offset = 0;  // bytes into the workspace
};

struct PlannedLaunch {
  std::string function;  // extern "C" name
  std::string
      code;  // after device.cuh, elements.cuh, scalar.cuh and `headers`; empty: clears workspace bytes
  std::vector<std::string> headers;  // embedded files, e.g. "reduction/folds.cuh"
  uint64_t grid = 1;                 // blocks
  uint32_t threads = 256;
  std::vector<PlannedOperand> operands;
  size_t clear_offset = 0, clear_bytes = 0;
};

struct LaunchPlan {
  std::string refusal;  // not empty: the problem is not served, and why
  std::vector<PlannedLaunch> launches;
  size_t workspace_bytes = 0;

  static LaunchPlan refuse(std::string reason) {
    LaunchPlan plan;
    plan.refusal = std::move(reason);
    return plan;
  }
};

}  // namespace wootz
