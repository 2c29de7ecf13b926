// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "engine/engine_data.h"

namespace wootz {

/// 32 hexadecimal digits over all that decides what an engine computes and how: graph, constants, tactics
/// with their configurations and packed weights, memory plan, backend and threads. Not over times, errors,
/// remarks and facts: builds that decide alike have the same.
std::string content_hash(const EngineData& engine);

}  // namespace wootz
