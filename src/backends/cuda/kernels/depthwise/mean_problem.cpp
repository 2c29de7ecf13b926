// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/depthwise/mean_problem.h"

namespace wootz {

std::optional<std::string> MeanProblem::make(const Problem& problem, MeanProblem& mean) {
  if (problem.outputs.size() != 2) return "not a convolution and its mean";
  mean.graph = std::make_unique<Graph>();
  const GraphPtr body = problem.body().clone(mean.graph->shared_symbols(), mean.graph.get());
  Value* const y = body->outputs()[0];
  Node* const reduction = body->outputs()[1]->producer();
  if (!reduction || !(reduction->is("ReduceMean") || reduction->is("GlobalAveragePool")) ||
      reduction->input(0) != y)
    return "the second result is not the mean of the first";
  const Dims &full = problem.outputs[0].dims, &kept = problem.outputs[1].dims;
  if (full.size() != 4 || kept != Dims{full[0], full[1], 1, 1})
    return "a mean over other axes than height and width";
  body->clear_outputs();
  body->add_output(y);
  body->erase(reduction);
  body->erase_unused_values();
  Node* region = mean.graph->add_node(kRegionDomain, kRegionOp, {});
  region->attributes = problem.region->attributes;
  region->attributes.set("body", body);
  mean.plain = problem;
  mean.plain.region = region;
  mean.plain.outputs.pop_back();
  return std::nullopt;
}

}  // namespace wootz
