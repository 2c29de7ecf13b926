// SPDX-License-Identifier: Apache-2.0
// SequenceConstruct: a sequence of the input tensors.
#include "ops/body.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/sequence.h"

namespace wootz::op_sequence_construct {
namespace {

void infer(InferContext& ctx) {
  Type element = ctx.input(0);
  for (size_t i = 1; i < ctx.input_count(); ++i) element = joined(ctx, element, ctx.input(i));
  ctx.set_output(0, Type::sequence(std::move(element)));
}

void evaluate(EvalContext& ctx) {
  std::vector<Datum> elements;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    ctx.check(ctx.input(i).dtype() == ctx.input(0).dtype(), "expected tensors of one element type");
    elements.emplace_back(ctx.input(i));
  }
  ctx.set_output(0, sequence_of(std::move(elements), ctx.input(0).dtype()));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor a = counting(DType::kFloat32, {2, 3}), b = counting(DType::kFloat32, {1});
  return {make("one", {a}), make("other ranks", {a, b}), make("same shapes", {a, a}),
          make("empty tensors", {Tensor::zeros(DType::kInt64, {0}), ints({3})}),
          make("strings", {counting(DType::kString, {2}), counting(DType::kString, {})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceConstruct";
  def.doc = "A sequence of the input tensors.";
  def.since = 11;
  def.min_inputs = 1;
  def.max_inputs = -1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_construct
