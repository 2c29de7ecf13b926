// SPDX-License-Identifier: Apache-2.0
// A fused group of nodes. Its meaning is its body, run by the references.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::op_region {
namespace {

Graph& body_of(const Node& node) { return *node.attributes.require<GraphPtr>("body"); }

void infer(InferContext& c) {
  Graph& body = body_of(c.node());
  c.check(body.inputs().size() == c.input_count(), "expected as many inputs as the body has");
  for (size_t i = 0; i < c.input_count(); ++i) {
    body.inputs()[i]->type = c.input(i);
    body.inputs()[i]->contents = c.contents(i);
  }
  infer_graph(body);
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    c.set_output(i, body.outputs()[i]->type);
    if (const auto& contents = body.outputs()[i]->contents) c.set_contents(i, *contents);
  }
}

void evaluate(EvalContext& c) {
  std::vector<Datum> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.datum(i));
  EvaluateOptions options;
  options.captured = c.captured;
  std::vector<Datum> outputs = evaluate_graph(body_of(c.node()), inputs, options);
  for (size_t i = 0; i < outputs.size(); ++i) c.set_output(i, std::move(outputs[i]));
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.domain = "wootz";
  def.name = "Region";
  def.doc = "The outputs of the graph in attribute body, applied to the inputs.";
  def.max_inputs = def.max_outputs = -1;
  def.attributes = {{"body", std::nullopt}, {"kind", Attribute(std::string("single"))}};
  def.infer = infer;
  def.evaluate = evaluate;
  registry.add(std::move(def));
}

}  // namespace wootz::op_region
