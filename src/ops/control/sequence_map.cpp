// SPDX-License-Identifier: Apache-2.0
// SequenceMap: runs the body on the i-th elements of the input sequences (tensors are handed to every run);
// each output is the sequence of the body's results.
#include "ops/body.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_sequence_map {
namespace {

void infer(InferContext& ctx) {
  Graph& body = body_of(ctx.node(), "body");
  ctx.check(body.inputs().size() == ctx.input_count() && body.outputs().size() >= ctx.node().outputs().size(),
            "expected a body of " + std::to_string(ctx.input_count()) + " inputs and " +
                std::to_string(ctx.node().outputs().size()) + " outputs");
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    const Type& type = ctx.input(i);
    body.inputs()[i]->type = type.kind == Type::Kind::kSequence && type.element ? *type.element : type;
  }
  infer_graph(body);
  for (size_t i = 0; i < ctx.node().outputs().size(); ++i)
    ctx.set_output(i, Type::sequence(seen_from_outside(ctx, body.outputs()[i]->type)));
}

void evaluate(EvalContext& ctx) {
  const Graph& body = body_of(ctx.node(), "body");
  const size_t count = sequence_input(ctx, 0).elements.size();
  std::vector<std::vector<Datum>> results(body.outputs().size());
  for (size_t k = 0; k < count; ++k) {
    std::vector<Datum> inputs;
    for (size_t i = 0; i < ctx.input_count(); ++i) {
      const Datum& datum = ctx.datum(i);
      const bool is_sequence = datum.kind == Datum::Kind::kSequence;
      ctx.check(!is_sequence || datum.elements.size() == count, "expected sequences of one length");
      inputs.push_back(is_sequence ? datum.elements[k] : datum);
    }
    std::vector<Datum> out = run_body(ctx, body, inputs);
    for (size_t i = 0; i < out.size(); ++i) results[i].push_back(std::move(out[i]));
  }
  for (size_t i = 0; i < results.size(); ++i)
    ctx.set_output(i, sequence_of(std::move(results[i]), body.outputs()[i]->type.dtype));
}

/// (x, y) -> concat(x, y)
GraphPtr joining_body() {
  auto g = std::make_shared<Graph>();
  Value* x = g->add_input("x", Type::tensor(DType::kFloat32));
  Value* y = g->add_input("y", Type::tensor(DType::kFloat32));
  Node* concat = g->add_node("Concat", {x, y});
  concat->attributes.set("axis", int64_t{0});
  g->add_output(concat->add_output("joined", Type::tensor(DType::kFloat32)));
  return g;
}

std::vector<Sample> samples() {
  using namespace sample;
  const std::vector<std::pair<std::string, Attribute>> body{{"body", joining_body()}};
  return {
      make("two sequences", {three_tensors(), three_tensors()}, body),
      make("a tensor for all", {three_tensors(), counting(DType::kFloat32, {2})}, body),
      make("nothing", {no_tensors(), no_tensors()}, body),
      make("one",
           {sequence_of({counting(DType::kFloat32, {0})}, DType::kFloat32), counting(DType::kFloat32, {2})},
           body),
      make("empty tensors", {three_tensors(), Tensor::zeros(DType::kFloat32, {0})}, body)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceMap";
  def.doc =
      "Runs the body on the i-th elements of the input sequences; each output is the sequence of its "
      "results.";
  def.since = 17;
  def.min_inputs = 1;
  def.max_inputs = -1;
  def.max_outputs = -1;
  def.attributes = {{"body", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_map
