// SPDX-License-Identifier: Apache-2.0
// SequenceLength: the number of tensors as an int64 scalar.
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"

namespace wootz::op_sequence_length {
namespace {

void infer(InferContext& ctx) {
  element_type(ctx, 0);
  ctx.set_output(0, DType::kInt64, Shape{});
  if (const auto values = constructed_from(ctx.node().input(0)))
    keep_contents(ctx, 0, std::vector<Dim>{static_cast<int64_t>(values->size())});
}

void evaluate(EvalContext& ctx) {
  *ctx.output(0, DType::kInt64, {}).as<int64_t>() =
      static_cast<int64_t>(sequence_input(ctx, 0).elements.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("three", {three_tensors()}), make("none", {no_tensors()}),
          make("strings", {three_tensors(DType::kString)}), make("ints", {three_tensors(DType::kInt64)}),
          make("one", {sequence_of({ints({1, 2})}, DType::kInt64)})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceLength";
  def.doc = "The number of tensors as an int64 scalar.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_length
