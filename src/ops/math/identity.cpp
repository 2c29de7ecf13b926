// SPDX-License-Identifier: Apache-2.0
#include "ir/element.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_identity {
namespace {

void infer(InferContext& c) {
  c.set_output(0, c.input(0));
  if (auto contents = c.contents(0)) c.set_contents(0, std::move(*contents));
}

void evaluate(EvalContext& c) {
  // An absent optional stays absent.
  if (!c.has_input(0)) return c.set_output(0, Datum());
  if (c.datum(0).kind != Datum::Kind::kTensor) return c.set_output(0, c.datum(0));
  const Tensor& x = c.input(0);
  Tensor& y = c.output(0, x.dtype(), x.dims());
  visit_storage(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    for (int64_t i = 0; i < x.size(); ++i) y.as<T>()[i] = x.as<T>()[i];
  });
}

std::optional<ScalarOp> scalar(const Node& node) {
  return node.input(0)->type.is_tensor() ? std::optional(ScalarOp::kCopy) : std::nullopt;
}

std::vector<Sample> samples() {
  std::vector<Sample> list = unary_samples(kNumberTypes | kBoolType | kFloat8Types, -9, 9);
  list.push_back({"strings", {Tensor::strings({2}, {"a", ""})}});
  Datum sequence;
  sequence.kind = Datum::Kind::kSequence;
  sequence.element_dtype = DType::kFloat32;
  sequence.elements = {Datum(Tensor::scalar_float(1)), Datum(spread_tensor(DType::kFloat32, {2}, 0, 1))};
  list.push_back({"sequence", {sequence}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Identity", "y = x, any type.", 1, 1);
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_identity
