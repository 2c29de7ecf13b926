// SPDX-License-Identifier: Apache-2.0
// The answers that people look for first in an explanation.
#pragma once
#include <string>
#include <vector>

#include "engine/engine_data.h"
#include "runtime/explain_work.h"

namespace wootz {

/// Microseconds that the device's arithmetic and memory allow for this work; 0 where its rates are not known.
double least_us(const EngineData& engine, const StepWork& work);

/// Whether a step only moves or converts data: a layout conversion, a copy, a cast.
bool is_movement(const Node& node);

/// What takes the time, how far it is from the device's limit and where most is lost, what copies cost, and
/// what was not fused: a few lines.
std::string explain_summary(const EngineData& engine, const ShapePlan& plan, const Bindings& bindings);

}  // namespace wootz
