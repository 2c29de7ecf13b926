// SPDX-License-Identifier: Apache-2.0
// SequenceAt: the tensor at a position; negative ones count from the end.
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_sequence_at {
namespace {

void infer(InferContext& ctx) {
  const Type element = element_type(ctx, 0);
  if (element.kind != Type::Kind::kUnknown) ctx.set_output(0, element);
  const auto values = constructed_from(ctx.node().input(0));
  const auto position = scalar_int(ctx, 1);
  if (!values || !position) return;
  const auto count = static_cast<int64_t>(values->size());
  const auto at = static_cast<size_t>(ctx.normalize_axis(*position, count, "position"));
  ctx.set_output(0, (*values)[at]->type);
  keep_contents(ctx, 0, (*values)[at]->contents);
}

void evaluate(EvalContext& ctx) {
  const Datum& sequence = sequence_input(ctx, 0);
  const auto count = static_cast<int64_t>(sequence.elements.size());
  ctx.set_output(0, sequence.elements[sequence_position(ctx, 1, count, count)]);
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("first", {three_tensors(), Tensor::scalar_int64(0)}),
          make("last", {three_tensors(), Tensor::scalar_int64(-1)}),
          make("int32 position", {three_tensors(DType::kInt64), int32s({}, {1})}),
          make("one-element position", {three_tensors(), ints({2})}),
          make("strings", {three_tensors(DType::kString), Tensor::scalar_int64(-3)})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceAt";
  def.doc = "The tensor at a position; negative ones count from the end.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_at
