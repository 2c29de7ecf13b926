// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/fuse/groups.h"
#include "passes/sizes.h"

namespace wootz {

/// Replaces the group's nodes by one region node (docs/regions.md). The caller sorts the graph afterwards.
Node* make_region(Graph& graph, const Group& group, float predicted_us);

}  // namespace wootz
