// SPDX-License-Identifier: Apache-2.0
// SequenceInsert: the sequence with the tensor put before `position`, or at the end.
#include "ops/body.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_sequence_insert {
namespace {

void infer(InferContext& ctx) {
  const Type element = element_type(ctx, 0);
  ctx.set_output(0, Type::sequence(joined(ctx, element, ctx.input(1))));
}

void evaluate(EvalContext& ctx) {
  Datum sequence = sequence_input(ctx, 0);
  const Tensor& tensor = ctx.input(1);
  ctx.check(sequence.element_dtype == tensor.dtype() || sequence.element_dtype == DType::kUndefined,
            "expected a tensor of the sequence's element type " +
                std::string(dtype_name(sequence.element_dtype)) + ", found " +
                std::string(dtype_name(tensor.dtype())));
  const auto count = static_cast<int64_t>(sequence.elements.size());
  const size_t at = ctx.has_input(2) ? sequence_position(ctx, 2, count, count + 1) : sequence.elements.size();
  sequence.elements.insert(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at), Datum(tensor));
  sequence.element_dtype = tensor.dtype();
  ctx.set_output(0, std::move(sequence));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 2});
  return {
      make("at the end", {three_tensors(), x}), make("first", {three_tensors(), x, Tensor::scalar_int64(0)}),
      make("negative", {three_tensors(), x, Tensor::scalar_int64(-1)}),
      make("position = length", {three_tensors(), x, int32s({}, {3})}), make("into none", {no_tensors(), x})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceInsert";
  def.doc = "The sequence with the tensor put before `position`, or at the end.";
  def.since = 11;
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_insert
