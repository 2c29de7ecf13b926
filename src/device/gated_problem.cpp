// SPDX-License-Identifier: Apache-2.0
#include "device/gated_problem.h"

namespace wootz {
namespace {

Node* convolution_of(const Graph& body) {
  for (const auto& node : body.nodes())
    if (node->is("Conv")) return node.get();
  return nullptr;
}

bool is_gate(const TensorDesc& gate, const TensorDesc& x) {
  const Dims &g = gate.dims, &full = x.dims;
  return gate.dtype == x.dtype && g.size() == 4 && full.size() == 4 && g[1] == full[1] &&
         (g[0] == full[0] || g[0] == 1) && g[2] == 1 && g[3] == 1;
}

}  // namespace

std::optional<std::string> GatedProblem::make(const Problem& problem, GatedProblem& gated) {
  const Node* before = convolution_of(problem.body());
  if (!before || !before->input(0)->producer() || !before->input(0)->producer()->is("Mul"))
    return "not a convolution of a product";
  gated.graph = std::make_unique<Graph>();
  const GraphPtr body = problem.body().clone(gated.graph->shared_symbols(), gated.graph.get());
  Node* conv = convolution_of(*body);
  Node* product = conv->input(0)->producer();
  if (product->output(0)->uses().size() != 1) return "the gated input is read elsewhere";
  for (size_t i = 0; i < 2 && gated.gate_input < 0; ++i) {
    const int gate = body_input_index(*body, product->input(i));
    const int x = body_input_index(*body, product->input(1 - i));
    if (gate < 0 || x < 0 || gate == x) continue;
    if (!is_gate(problem.inputs[static_cast<size_t>(gate)], problem.inputs[static_cast<size_t>(x)])) continue;
    gated.gate_input = gate;
    conv->set_input(0, product->input(1 - i));
  }
  if (gated.gate_input < 0) return "the factor is not one an image and channel";
  body->erase(product);
  body->erase_unused_values();
  Node* region = gated.graph->add_node(kRegionDomain, kRegionOp, {});
  region->attributes = problem.region->attributes;
  region->attributes.set("body", body);
  gated.plain = problem;
  gated.plain.region = region;
  return std::nullopt;
}

}  // namespace wootz
