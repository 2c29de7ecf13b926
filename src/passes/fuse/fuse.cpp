// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/fuse.h"

#include "base/error.h"
#include "device/region.h"
#include "passes/fuse/cost.h"
#include "passes/fuse/grow.h"
#include "passes/fuse/make_region.h"

namespace wootz {
namespace {

void name_kinds(Groups& groups) {
  for (Group& g : groups.all())
    if (g.nodes.size() == 1 && g.kind == "single" && g.nodes[0]->is("wootz", "Attention"))
      g.kind = "attention";
}

bool run_fuse(Graph& graph, PassContext& context) {
  if (graph.node_count() == 0) return false;
  for (const auto& node : graph.nodes())
    if (is_region(*node)) return false;  // fused already
  const SizeModel sizes(graph.symbols(), context);
  Groups groups(graph);
  if (context.enabled("fuse") && context.allow_patch("fuse")) {
    grow_contractions(groups, sizes, context);
    grow_norms(groups, context);
    grow_pointwise(groups, sizes, context);
  }
  name_kinds(groups);
  for (const Group& g : groups.all()) {
    if (g.nodes.empty()) continue;
    const double seconds = region_seconds(g.nodes, sizes, context.target);
    make_region(graph, g, static_cast<float>(seconds * 1e6));
  }
  WOOTZ_ASSERT(graph.sort_topologically());
  graph.erase_unused_values();
  return true;
}

}  // namespace

Pass fuse() {
  return {"fuse",
          "Groups nodes into regions, each of which one kernel computes; disabled: one node a region.",
          run_fuse, true};
}

}  // namespace wootz
