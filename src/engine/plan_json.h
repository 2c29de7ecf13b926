// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/engine_data.h"
#include "engine/graph_json.h"

namespace wootz {

/// Everything of an engine but its graph.
nlohmann::json json_from_plan(const EngineData& engine, BlobList& blobs);
/// Fills all but the graph, which must be there already: steps are checked against its nodes.
void plan_from_json(const nlohmann::json& json, const BlobList& blobs, EngineData& engine);

}  // namespace wootz
