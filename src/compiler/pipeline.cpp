// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline.h"

#include "ir/verify.h"
#include "passes/eliminate_dead_nodes.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_shapes.h"
#include "passes/fuse/fuse.h"
#include "passes/layout/assign_layouts.h"
#include "passes/merge_duplicate_nodes.h"
#include "passes/pass_manager.h"

namespace wootz {

std::vector<Phase> pipeline() {
  return {
      // Shapes before rules: rules look at known shapes and constants.
      {"clean", {fold_shapes(), fold_constants()}, true},
      {"simplify", {fold_batch_norm(), fold_shapes(), fold_constants()}, true},
      // Layouts before fusion: regions do not span layouts.
      {"layout", {assign_layouts()}, false},
      {"fuse", {fuse()}, false},
  };
}

void run_pipeline(Graph& graph, PassContext& context, std::string_view first, std::string_view last) {
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
