// SPDX-License-Identifier: Apache-2.0
// OptionalGetElement: what the optional holds; a tensor or sequence passes through.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_optional_get_element {
namespace {

void infer(InferContext& ctx) {
  const Type& type = ctx.input(0);
  if (type.kind == Type::Kind::kUnknown) return;
  ctx.set_output(0, type.kind == Type::Kind::kOptional && type.element ? *type.element : type);
  if (type.is_tensor()) keep_contents(ctx, 0, small_contents(ctx, 0));
}

void evaluate(EvalContext& ctx) {
  const Datum& datum = ctx.datum(0);
  if (datum.kind != Datum::Kind::kOptional) return ctx.set_output(0, datum);
  ctx.check(!datum.elements.empty(), "expected an optional with an element, found an empty one");
  ctx.set_output(0, datum.elements[0]);
}

std::vector<Sample> samples() {
  using namespace sample;
  Datum tensor, sequence;
  tensor.kind = sequence.kind = Datum::Kind::kOptional;
  tensor.elements.push_back(counting(DType::kFloat32, {2}));
  sequence.elements.push_back(three_tensors());
  return {make("tensor in an optional", {tensor}), make("sequence in an optional", {sequence}),
          make("tensor", {counting(DType::kInt64, {2})}), make("sequence", {three_tensors()}),
          make("string", {counting(DType::kString, {})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "OptionalGetElement";
  def.doc = "What the optional holds; a tensor or sequence passes through.";
  def.since = 15;
  def.min_inputs = def.max_inputs = 1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_optional_get_element
