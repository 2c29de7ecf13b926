// SPDX-License-Identifier: Apache-2.0
// OptionalHasElement: false for a missing input or an empty optional, else true.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_optional_has_element {
namespace {

void infer(InferContext& ctx) {
  ctx.set_output(0, DType::kBool, Shape{});
  const bool given = ctx.input_count() > 0 && ctx.has_input(0);
  const Type::Kind kind = given ? ctx.input(0).kind : Type::Kind::kUnknown;
  if (!given)
    ctx.set_contents(0, {Dim(0)});
  else if (kind == Type::Kind::kTensor || kind == Type::Kind::kSequence)
    ctx.set_contents(0, {Dim(1)});
}

void evaluate(EvalContext& ctx) {
  const bool given = ctx.has_input(0);
  const bool full = given && (ctx.datum(0).kind != Datum::Kind::kOptional || !ctx.datum(0).elements.empty());
  *ctx.output(0, DType::kBool, {}).as<bool>() = full;
}

std::vector<Sample> samples() {
  using namespace sample;
  Datum empty, full;
  empty.kind = full.kind = Datum::Kind::kOptional;
  full.elements.push_back(counting(DType::kFloat32, {2}));
  return {make("empty", {empty}), make("full", {full}), make("tensor", {counting(DType::kInt64, {1})}),
          make("sequence", {three_tensors()}), make("no input", {})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "OptionalHasElement";
  def.doc = "False for a missing input or an empty optional, else true.";
  def.since = 15;
  def.max_inputs = 1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_optional_has_element
