// SPDX-License-Identifier: Apache-2.0
// Forbids the reference where a kernel serves.
#pragma once
#include <memory>

#include "engine/engine_data.h"

namespace wootz::conformance {

/// How the steps of an engine are computed. Steps that compute nothing, or whose sizes only the run can tell,
/// are not counted.
struct StepCount {
  int by_kernel = 0, by_reference = 0;
};

/// Gives every step that the race left to the reference, although a kernel serves it (the reference could not
/// be run on made-up inputs, say), to that kernel.
StepCount force_kernels(EngineData& engine, bool vendor_libraries);

}  // namespace wootz::conformance
