// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "engine/engine_data.h"
#include "engine/graph_json.h"
#include "engine/json.h"

namespace wootz {

/// Everything of an engine but its graph.
Json json_from_plan(const EngineData& engine, BlobList& blobs);
/// Fills all but the graph, which must be there already: steps are checked against its nodes.
void plan_from_json(const Json& json, const BlobList& blobs, EngineData& engine);

}  // namespace wootz
