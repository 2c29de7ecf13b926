// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>

#include <algorithm>

#include "device/region.h"
#include "passes/fuse/grow.h"
#include "passes/precision/lower_precision.h"
#include "passes/precision/precision_rules.h"

namespace wootz {
namespace {

/// The attention of a region counts as products.
bool multiplies_float32(const Node& region) {
  for (const auto& n : region_body(region).nodes())
    if ((is_contraction(*n) || n->is("wootz", "Attention")) && is_float32(n->output(0))) return true;
  return false;
}

bool kept_exact(const Node& region, const PrecisionOptions& options) {
  bool exact = false;
  for (const PrecisionOverride& o : options.overrides)
    for (const std::string& origin : region.origins)
      if (::fnmatch(o.pattern.c_str(), origin.c_str(), 0) == 0) exact = o.type == DType::kFloat32;
  return exact;
}

bool run_permit_tf32(Graph& graph, PassContext& context) {
  const PrecisionOptions& options = context.options.precision;
  if (!options.tf32) return false;
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!is_region(*node) || node->attributes.contains("tf32") || !multiplies_float32(*node)) continue;
    if (kept_exact(*node, options)) {
      context.remark(*node, "no TF32: asked for");
      continue;
    }
    if (!context.allow_patch("permit_tf32")) return changed;
    node->attributes.set("tf32", int64_t{1});
    context.remark(*node, "products may use TF32 where the device has it");
    changed = true;
  }
  return changed;
}

}  // namespace

Pass permit_tf32() {
  return {"permit_tf32", "Lets products round their float32 operands to TF32, where asked for.",
          run_permit_tf32};
}

}  // namespace wootz
