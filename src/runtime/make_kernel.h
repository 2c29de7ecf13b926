// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "device/backend.h"
#include "engine/engine_data.h"

namespace wootz {

struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  std::string tactic_id;
};

/// The kernel of a step for a problem: the first of its choices that serves it here and that `fits`; where
/// none does (another shape, another machine), the backend's first guess. Tactics among `refused` and those
/// that throw Error(kUnsupported) when they make theirs are passed over. Throws Error(kInternal) when nothing
/// does.
MadeKernel make_kernel(const Problem& problem, const StepRecord& record, const Backend& backend,
                       const std::function<bool(const Kernel&)>& fits,
                       std::span<const std::string> refused = {});

}  // namespace wootz
