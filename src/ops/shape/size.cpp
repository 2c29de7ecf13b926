// SPDX-License-Identifier: Apache-2.0
// Size: the number of elements as an int64 scalar.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_size {
namespace {

void infer(InferContext& ctx) {
  ctx.set_output(0, DType::kInt64, Shape{});
  if (ctx.has_rank(0)) keep_contents(ctx, 0, std::vector<Dim>{ctx.symbols().product(ctx.shape(0))});
}

void evaluate(EvalContext& ctx) { *ctx.output(0, DType::kInt64, {}).as<int64_t>() = ctx.input(0).size(); }

std::vector<Sample> samples() {
  using namespace sample;
  return {make("matrix", {counting(DType::kFloat32, {2, 3})}), make("scalar", {counting(DType::kInt8, {})}),
          make("empty", {counting(DType::kInt64, {2, 0})}), make("one", {counting(DType::kBool, {1, 1, 1})}),
          make("strings", {counting(DType::kString, {3})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Size";
  def.doc = "The number of elements as an int64 scalar.";
  def.min_inputs = def.max_inputs = 1;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_size
