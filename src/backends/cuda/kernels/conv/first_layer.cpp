// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/conv/first_layer.h"

#include <memory>

#include "backends/cuda/codegen/program_source.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"

namespace wootz {
namespace {

Node* convolution_of(const Graph& body) {
  for (const auto& node : body.nodes())
    if (node->is("Conv")) return node.get();
  return nullptr;
}

/// The region without the conversions in front of its convolution; the graph owns its body.
struct Unconverted {
  std::unique_ptr<Graph> graph;
  Problem plain;
};

/// Nothing when the convolution reads an input of the region as it is.
std::optional<Unconverted> without_conversions(const Problem& problem, size_t& input, DType element) {
  const Node* main = convolution_of(problem.body());
  if (!main || !main->input(0) || !main->input(0)->producer()) return std::nullopt;
  Unconverted u;
  u.graph = std::make_unique<Graph>();
  const GraphPtr body = problem.body().clone(u.graph->shared_symbols(), u.graph.get());
  Node* conv = convolution_of(*body);
  while (Node* before = conv->input(0)->producer()) {
    if (!(before->is("Cast") || before->is("wootz", "Relayout")) || before->output(0)->uses().size() != 1)
      return std::nullopt;
    conv->set_input(0, before->input(0));
    body->erase(before);
  }
  const int at = body_input_index(*body, conv->input(0));
  if (at < 0) return std::nullopt;
  input = static_cast<size_t>(at);
  body->erase_unused_values();
  Node* region = u.graph->add_node(kRegionDomain, kRegionOp, {});
  region->attributes = problem.region->attributes;
  region->attributes.set("body", body);
  u.plain = problem;
  u.plain.region = region;
  TensorDesc& x = u.plain.inputs[input];
  x.dtype = element;
  return u;
}

}  // namespace

std::optional<std::string> FirstLayer::read(const Problem& problem, FirstLayer& layer) {
  const Node* main = convolution_of(problem.body());
  if (!main || !main->input(1)) return "not a convolution";
  const int weights = body_input_index(problem.body(), main->input(1));
  if (weights < 0) return "weights that are computed";
  const DType element = problem.inputs[static_cast<size_t>(weights)].dtype;
  if (element != DType::kFloat16 && element != DType::kBFloat16)
    return "elements of type " + std::string(dtype_name(element)) + ", expected 16-bit floats";
  const auto unconverted = without_conversions(problem, layer.input, element);
  const Problem& plain = unconverted ? unconverted->plain : problem;
  if (auto why = Contraction::read(plain, layer.c)) return why;
  if (!layer.c.is_convolution) return "not a convolution";
  if (auto why = Gather::refusal(plain, layer.c)) return why;
  layer.input = static_cast<size_t>(layer.c.a_input);
  layer.source = problem.inputs[layer.input];
  if (layer.source.constant) return "an input that is constant";
  if (layer.source.dtype != DType::kFloat32 && layer.source.dtype != element)
    return "an input of type " + std::string(dtype_name(layer.source.dtype));
  return std::nullopt;
}

std::string FirstLayer::types() const {
  return "#include \"base/device.cuh\"\n#include \"base/elements.cuh\"\nusing Source = " +
         std::string(memory_type(source.dtype)) +
         ";\nusing Element = " + std::string(memory_type(c.element)) + ";\n";
}

}  // namespace wootz
