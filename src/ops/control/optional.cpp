// SPDX-License-Identifier: Apache-2.0
// Optional: an optional that holds the input, or, without input, an empty one of the attribute's type.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_optional {
namespace {

void infer(InferContext& ctx) {
  if (ctx.input_count() > 0 && ctx.has_input(0)) return ctx.set_output(0, Type::optional(ctx.input(0)));
  ctx.check(ctx.attributes().contains("type"), "expected an input or the attribute type");
  ctx.set_output(0, Type::optional(ctx.attributes().require<Type>("type")));
}

void evaluate(EvalContext& ctx) {
  Datum datum;
  datum.kind = Datum::Kind::kOptional;
  if (ctx.has_input(0)) datum.elements.push_back(ctx.datum(0));
  ctx.set_output(0, std::move(datum));
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("tensor", {counting(DType::kFloat32, {2})}), make("sequence", {three_tensors()}),
          make("empty tensor", {}, {{"type", Attribute(Type::tensor(DType::kFloat32))}}),
          make("empty sequence", {}, {{"type", Attribute(Type::sequence(Type::tensor(DType::kInt64)))}}),
          make("scalar string", {counting(DType::kString, {})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Optional";
  def.doc = "An optional that holds the input, or, without input, an empty one of the attribute's type.";
  def.since = 15;
  def.max_inputs = 1;
  def.attributes = {{"type", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_optional
