// SPDX-License-Identifier: Apache-2.0
// CumSum: the running sum along an axis; exclusive leaves out the element itself, reverse starts at the far
// end.
#include "ops/registry.h"
#include "ops/running.h"
#include "ops/sample_tensors.h"

namespace wootz {
namespace {

void evaluate(EvalContext& ctx) { evaluate_running(ctx, false); }

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), first = Tensor::scalar_int64(0);
  const std::pair<std::string, Attribute> exclusive{"exclusive", int64_t{1}}, reverse{"reverse", int64_t{1}};
  return {make("columns", {x, first}),
          make("negative axis", {x, int32s({}, {-1})}),
          make("exclusive", {x, ints({1})}, {exclusive}),
          make("reverse", {x, first}, {reverse}),
          make("both", {ints({3}, {1, 2, 3}), first}, {exclusive, reverse}),
          make("empty", {Tensor::zeros(DType::kFloat64, {0, 2}), first}),
          make("half", {counting(DType::kFloat16, {4}), first})};
}

}  // namespace

void register_op_cum_sum(OpRegistry& registry) {
  OpDef def;
  def.name = "CumSum";
  def.doc =
      "The running sum along an axis; exclusive leaves out the element itself, reverse starts at the far "
      "end.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<RunningAttributes>();
  def.infer = infer_running;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
