// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/fuse/grow.h"
#include "passes/pattern/match.h"
#include "passes/precision/quantized_value.h"

namespace wootz {
namespace {

bool is_row_norm(const Node& node) { return node.is("LayerNormalization") || node.is("RMSNormalization"); }

/// The steps of the quantization that begins at `first`, up to the cast to bytes.
std::vector<Node*> quantization_from(Node& first) {
  std::vector<Node*> steps{&first};
  while (dtype_size(steps.back()->output(0)->type.dtype) > 1)
    steps.push_back(steps.back()->output(0)->uses()[0].node);
  return steps;
}

/// Of the quantization that reads the norm's result, where all of it may join; else empty.
std::vector<Node*> quantization_behind(const Node& norm, const Groups& groups) {
  const Value* y = norm.output(0);
  for (const Use& u : y->uses()) {
    if (u.node->graph() != norm.graph() || !begins_quantization(*u.node)) continue;
    const std::vector<Node*> steps = quantization_from(*u.node);
    const bool alike = std::all_of(steps.begin(), steps.end(), [&](const Node* n) {
      return is_pointwise(*n) && groups[groups.group_of(n)].nodes.size() == 1 &&
             same_shape(n->output(0), y) && n->output(0)->layout == y->layout;
    });
    if (alike) return steps;
  }
  return {};
}

}  // namespace

void grow_norms(Groups& groups, PassContext& context) {
  if (context.target.name != "cuda") return;
  for (Node* node : groups.nodes()) {
    if (!is_row_norm(*node) || groups[groups.group_of(node)].nodes.size() > 1) continue;
    std::vector<Node*> joined = quantization_behind(*node, groups);
    if (joined.empty()) continue;
    joined.insert(joined.begin(), node);
    if (!groups.would_cycle(joined)) groups.join(joined, "reduction");
  }
}

}  // namespace wootz
