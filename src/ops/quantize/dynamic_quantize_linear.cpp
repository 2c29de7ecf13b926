// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/quantize/dynamic.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_dynamic_quantize_linear {
namespace {

void infer(InferContext& c) {
  Type y = Type::tensor(DType::kUint8);
  y.shape = c.input(0).shape;
  c.set_output(0, y);
  c.set_output(1, DType::kFloat32, Shape{});
  c.set_output(2, DType::kUint8, Shape{});
}

void evaluate(EvalContext& c) {
  std::vector<double> x = c.input(0).to_doubles();
  const DynamicScale s = dynamic_scale(x);
  for (double& v : x) v = s.quantize(v);
  store_doubles(x, c.output(0, DType::kUint8, c.input(0).dims()));
  *c.output(1, DType::kFloat32, {}).as<float>() = s.scale;
  *c.output(2, DType::kUint8, {}).as<uint8_t>() = static_cast<uint8_t>(s.zero_point);
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"both signs", {sample_floats({3, 5})}, {}, 3});
  s.push_back({"positive", {sample_values(DType::kFloat32, {2, 6}, 0.5, 3)}, {}, 3});
  s.push_back({"negative", {sample_values(DType::kFloat32, {6}, -3, -0.5)}, {}, 3});
  s.push_back({"all zero", {sample_values(DType::kFloat32, {4}, 0, 0)}, {}, 3});
  s.push_back({"scalar", {sample_floats({})}, {}, 3});
  s.push_back({"empty", {sample_floats({0})}, {}, 3});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "DynamicQuantizeLinear";
  d.doc =
      "uint8 quantization with the range of the data, zero included: scale = (max - min) / 255, zero point = "
      "round(-min / scale) "
      "(ONNX DynamicQuantizeLinear-11).";
  d.since = 11;
  d.min_inputs = d.max_inputs = 1;
  d.min_outputs = d.max_outputs = 3;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_dynamic_quantize_linear
