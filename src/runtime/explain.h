// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "engine/engine_data.h"

namespace wootz {

/// The name of a region for people: its heavy node's op with what was fused into it, e.g. `Conv+Add+Relu`.
std::string region_title(const Node& node);

/// Everything decided and measured, see Engine::explain_json. Indent -1: one line.
std::string explain_json(const EngineData& engine, int indent = 1);
std::string explain_text(const EngineData& engine, int width);

}  // namespace wootz
