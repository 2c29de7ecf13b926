// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz {
namespace {

void evaluate(EvalContext& c) {
  evaluate_variadic(c, {.real = [](double a, double b) { return a + b; }});
}

std::optional<ScalarOp> scalar(const Node& node) {
  return node.inputs().size() == 1 ? ScalarOp::kCopy : ScalarOp::kAdd;
}

std::vector<Sample> samples() {
  std::vector<Sample> list = binary_samples(kRealTypes, {-9, 9}, {-9, 9});
  const Datum a = spread_tensor(DType::kFloat32, {2, 3}, -5, 5),
              b = spread_tensor(DType::kFloat32, {3}, -5, 5, 2),
              d = spread_tensor(DType::kFloat32, {}, -1, 5, 3);
  list.push_back({"one input", {a}});
  list.push_back({"three inputs, broadcast", {b, a, d}});
  return list;
}

}  // namespace

void register_op_sum(OpRegistry& registry) {
  OpDef def = pointwise_op("Sum", "The element-wise sum of the inputs.", 1, 1);
  def.max_inputs = -1;
  def.canonicalize = canonicalize_consumed_inputs;
  def.infer = infer_same<kRealTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
