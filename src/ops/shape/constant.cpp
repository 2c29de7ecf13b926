// SPDX-License-Identifier: Apache-2.0
// Constant: the tensor of its one attribute.
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_constant {
namespace {

std::optional<Tensor> tensor_of(const Attributes& attributes) {
  if (attributes.contains("value_float"))
    return Tensor::scalar_float(attributes.require<float>("value_float"));
  if (attributes.contains("value_int")) return Tensor::scalar_int64(attributes.require<int64_t>("value_int"));
  if (attributes.contains("value_string"))
    return Tensor::strings({}, {attributes.require<std::string>("value_string")});
  if (attributes.contains("value_ints")) return Tensor::int64s(attributes.require<Ints>("value_ints"));
  if (attributes.contains("value_floats")) {
    const auto& v = attributes.require<Floats>("value_floats");
    return Tensor::from<float>(DType::kFloat32, {static_cast<int64_t>(v.size())}, v);
  }
  if (attributes.contains("value_strings")) {
    const auto& v = attributes.require<Strings>("value_strings");
    return Tensor::strings({static_cast<int64_t>(v.size())}, v);
  }
  return std::nullopt;
}

/// Every spelling becomes `value`.
void canonicalize(CanonicalizeContext& ctx) {
  Attributes& attributes = ctx.node().attributes;
  if (attributes.contains("value")) return;
  auto tensor = tensor_of(attributes);
  if (!tensor) ctx.fail("expected one of value, value_int(s), value_float(s), value_string(s)");
  attributes = {};
  attributes.set("value", std::move(*tensor));
}

void infer(InferContext& ctx) {
  const Tensor& value = ctx.attributes().require<Tensor>("value");
  ctx.set_output(0, value.dtype(), Shape(value.dims().begin(), value.dims().end()));
  if (!is_integer(value.dtype()) || value.rank() > 1 || value.size() > kMaxContents) return;
  const Ints numbers = value.to_int64s();
  keep_contents(ctx, 0, std::vector<Dim>(numbers.begin(), numbers.end()));
}

void evaluate(EvalContext& ctx) {
  const Tensor& value = ctx.attributes().require<Tensor>("value");
  Tensor& out = ctx.output(0, value.dtype(), value.dims());
  copy_elements(value.dtype(), value.data(), 0, out.data(), 0, value.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  std::vector<Sample> all;
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kString, DType::kBool, DType::kFloat8E5M2})
    all.push_back(make(std::string(dtype_name(dtype)), {}, {{"value", counting(dtype, {2, 2})}}));
  all.push_back(make("scalar", {}, {{"value", Tensor::scalar_float(3)}}));
  all.push_back(make("empty", {}, {{"value", Tensor::zeros(DType::kInt64, {0})}}));
  return all;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Constant";
  def.doc = "The tensor of its one attribute.";
  def.attributes = {{"value", std::nullopt}};
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_constant
