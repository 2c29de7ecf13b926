// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline.h"

#include "ir/verify.h"
#include "passes/absorb_pads.h"
#include "passes/eliminate_dead_nodes.h"
#include "passes/eliminate_gathers.h"
#include "passes/eliminate_reshapes.h"
#include "passes/eliminate_transposes.h"
#include "passes/expand_einsum.h"
#include "passes/flatten_volumes.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_shapes.h"
#include "passes/fuse/fuse.h"
#include "passes/hoist_loop_states.h"
#include "passes/inline_branches.h"
#include "passes/layout/assign_layouts.h"
#include "passes/merge_duplicate_nodes.h"
#include "passes/merge_parallel_products.h"
#include "passes/merge_rolls.h"
#include "passes/own_subgraph_outputs.h"
#include "passes/pass_manager.h"
#include "passes/patch_products.h"
#include "passes/precision/integer_products.h"
#include "passes/precision/lower_precision.h"
#include "passes/precision/weight_products.h"
#include "passes/recognise/lower_attention.h"
#include "passes/recognise/lower_group_query.h"
#include "passes/recognise/missed_norms.h"
#include "passes/recognise/narrow_masks.h"
#include "passes/recognise/recognise_activations.h"
#include "passes/recognise/recognise_attention.h"
#include "passes/recognise/recognise_norms.h"
#include "passes/simplify_algebra.h"
#include "passes/sink_casts.h"
#include "passes/sink_transposes.h"

namespace wootz {

std::vector<Phase> pipeline() {
  return {
      // Shapes before rules: rules look at known shapes and constants.
      // Integer products before folding: it would make float32 of 8-bit weights.
      {"clean",
       {integer_products(), weight_products(), fold_shapes(), fold_constants(), inline_branches(),
        hoist_loop_states()},
       true},
      // Norms before fold_batch_norm: it would take their factors and terms for a convolution's. Attention
      // after
      // eliminate_transposes, that leaves one transpose on each operand.
      {"simplify",
       {simplify_algebra(), recognise_norms(), recognise_activations(), expand_einsum(), absorb_pads(),
        fold_batch_norm(), flatten_volumes(), eliminate_reshapes(), eliminate_gathers(),
        eliminate_transposes(), sink_transposes(), recognise_attention(), lower_attention(),
        lower_group_query(), narrow_masks(), fold_shapes(), fold_constants(), inline_branches()},
       true},
      // After fold_batch_norm, that knows convolutions.
      {"patches", {patch_products(), eliminate_reshapes(), eliminate_transposes()}, true},
      // After recognition: norms and attention keep their sums in float32 as one operator. Before layouts and
      // fusion: casts join regions.
      {"precision", {missed_norms(), expand_quantize(), lower_precision(), simplify_algebra()}, false},
      // Products merge when their types are final. Layouts before fusion: regions do not span layouts.
      {"layout", {merge_parallel_products(), merge_rolls(), sink_casts(), assign_layouts()}, false},
      {"fuse", {fuse(), permit_tf32()}, false},
  };
}

void run_pipeline(Graph& graph, PassContext& context, std::string_view first, std::string_view last) {
  own_subgraph_outputs(graph);
  eliminate_dead_nodes(graph);
  merge_duplicate_nodes(graph);
  bool running = first.empty();
  for (const Phase& phase : pipeline()) {
    running |= phase.name == first;
    if (running) run_passes(graph, phase.passes, phase.repeat, context);
    if (phase.name == last) break;
  }
  verify_graph(graph, "the passes");
}

}  // namespace wootz
