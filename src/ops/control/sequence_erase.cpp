// SPDX-License-Identifier: Apache-2.0
// SequenceErase: the sequence without the tensor at `position`, or without the last one.
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_sequence_erase {
namespace {

void infer(InferContext& ctx) {
  element_type(ctx, 0);
  ctx.set_output(0, ctx.input(0));
}

void evaluate(EvalContext& ctx) {
  Datum sequence = sequence_input(ctx, 0);
  const auto count = static_cast<int64_t>(sequence.elements.size());
  ctx.check(count > 0, "expected a sequence with at least one tensor, found an empty one");
  const size_t at = ctx.has_input(1) ? sequence_position(ctx, 1, count, count) : sequence.elements.size() - 1;
  sequence.elements.erase(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at));
  ctx.set_output(0, std::move(sequence));
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("last", {three_tensors()}), make("first", {three_tensors(), Tensor::scalar_int64(0)}),
          make("negative", {three_tensors(), Tensor::scalar_int64(-2)}),
          make("int32", {three_tensors(), int32s({}, {2})}),
          make("strings", {three_tensors(DType::kString)})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceErase";
  def.doc = "The sequence without the tensor at `position`, or without the last one.";
  def.since = 11;
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_erase
