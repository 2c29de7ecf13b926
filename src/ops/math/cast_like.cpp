// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"
#include "ops/cast_elements.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_cast_like {
namespace {

struct Parameters {
  int64_t saturate = 1;
  std::string round_mode = "up";
  template <class V>
  void reflect(V& v) {
    v("saturate", saturate);
    v("round_mode", round_mode);
  }
};

void infer(InferContext& c) {
  Type type = c.input(0);
  type.dtype = c.dtype(1);
  c.set_output(0, std::move(type));
  const bool integers = c.dtype(1) == DType::kInt64 || c.dtype(1) == DType::kInt32;
  if (auto contents = c.contents(0); contents && integers) c.set_contents(0, std::move(*contents));
}

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  const Tensor& x = c.input(0);
  cast_elements(x, c.output(0, c.input(1).dtype(), x.dims()), {p.saturate != 0, p.round_mode});
}

std::optional<ScalarOp> scalar(const Node& node) {
  const DType from = node.input(0)->type.dtype, to = node.input(1)->type.dtype;
  const bool plain =
      from != DType::kString && (is_integer(to) || to == DType::kBool || kRealTypes.contains(to));
  return plain ? std::optional(ScalarOp::kCast) : std::nullopt;
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  const Tensor real = spread_tensor(DType::kFloat32, {2, 5}, 0, 3),
               integer = spread_tensor(DType::kInt64, {3}, -5, 5);
  for (DType to : {DType::kFloat16, DType::kFloat64, DType::kInt8, DType::kBool, DType::kFloat8E5M2})
    for (const Tensor& x : {real, integer})
      list.push_back({std::string(dtype_name(x.dtype())) + " to " + std::string(dtype_name(to)),
                      {x, Tensor::zeros(to, {1})}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("CastLike", "The first input converted to the element type of the second.", 2, 15);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_cast_like
