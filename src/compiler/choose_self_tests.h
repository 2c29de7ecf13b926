// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "engine/engine_data.h"

namespace wootz {

/// Self-tests of an engine on the host (runtime/self_tests.h): of each tactic that won somewhere the cheapest
/// region, cheap ones first, as many as run in a few milliseconds. `dims` are those it was tuned for.
std::vector<SelfTest> choose_self_tests(const EngineData& engine, std::span<const Dims> dims);

}  // namespace wootz
