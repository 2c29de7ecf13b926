// SPDX-License-Identifier: Apache-2.0
#include "ops/element_type.h"
#include "ops/evaluate.h"
#include "ops/quantize/quantize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_dequantize_linear {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<DequantizeLinearAttributes>();
  Type y = Type::tensor(a.output_dtype ? element_type(a.output_dtype, "output_dtype") : c.dtype(1));
  if (c.has_input(2)) c.check_same_dtype(0, 2);
  y.shape = c.input(0).shape;
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<DequantizeLinearAttributes>();
  const Tensor &x = c.input(0), &scale = c.input(1);
  const QuantizeGranularity g = quantize_granularity(a.axis, a.block_size, x.dims(), scale.dims());
  const std::vector<double> scales = scale.to_doubles();
  const std::vector<double> zeros =
      c.has_input(2) ? c.input(2).to_doubles() : std::vector<double>(scales.size(), 0);
  c.check(zeros.size() == scales.size(), "zero point: expected the scale's dims " + dims_text(scale.dims()) +
                                             ", found " + std::to_string(zeros.size()) + " elements");
  std::vector<double> values = x.to_doubles();
  for_each_quantized(g, [&](int64_t i, int64_t s) {
    double& v = values[static_cast<size_t>(i)];
    v = (v - zeros[static_cast<size_t>(s)]) * scales[static_cast<size_t>(s)];
  });
  store_doubles(
      values,
      c.output(0, a.output_dtype ? element_type(a.output_dtype, "output_dtype") : scale.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const DType f32 = DType::kFloat32;
  const auto scale = [](Dims d) { return sample_values(DType::kFloat32, std::move(d), 0.01, 0.1, 2); };
  const auto axis = [](int64_t a) { return sample_attributes({{"axis", int_attribute(a)}}); };
  std::vector<Sample> s;
  s.push_back(
      {"no zero point", {sample_values(DType::kUint8, {3, 5}, 0, 255), sample_tensor(f32, {}, {0.02})}, {}});
  s.push_back({"uint8",
               {sample_values(DType::kUint8, {3, 5}, 0, 255), sample_tensor(f32, {}, {0.02}),
                sample_tensor(DType::kUint8, {}, {128})},
               {}});
  s.push_back({"int8 per axis",
               {sample_values(DType::kInt8, {2, 3, 4}, -128, 127), scale({3}),
                sample_values(DType::kInt8, {3}, -9, 9)},
               axis(1)});
  s.push_back({"int16 per axis from the back",
               {sample_values(DType::kInt16, {2, 4}, -999, 999), scale({4}),
                sample_values(DType::kInt16, {4}, -9, 9)},
               axis(-1)});
  s.push_back({"int4 blocks",
               {sample_values(DType::kInt4, {2, 7}, -8, 7), scale({2, 3}),
                sample_values(DType::kInt4, {2, 3}, -3, 3)},
               sample_attributes({{"axis", int_attribute(1)}, {"block_size", int_attribute(3)}})});
  s.push_back({"blocks along axis 0",
               {sample_values(DType::kUint4, {4, 3}, 0, 15), scale({2, 3})},
               sample_attributes({{"axis", int_attribute(0)}, {"block_size", int_attribute(2)}})});
  s.push_back(
      {"int32", {sample_values(DType::kInt32, {5}, -9999, 9999), sample_tensor(f32, {}, {0.02})}, {}});
  s.push_back({"uint2", {sample_values(DType::kUint2, {5}, 0, 3.9), sample_tensor(f32, {}, {0.02})}, {}});
  s.push_back({"float8", {sample_values(DType::kFloat8E5M2, {7}, -9, 9), sample_tensor(f32, {}, {0.5})}, {}});
  s.push_back({"float6", {sample_values(DType::kFloat6E3M2, {7}, -9, 9), sample_tensor(f32, {}, {0.5})}, {}});
  s.push_back({"float16 scale",
               {sample_values(DType::kUint8, {7}, 0, 255), sample_tensor(DType::kFloat16, {}, {0.02}),
                sample_tensor(DType::kUint8, {}, {3})},
               {}});
  s.push_back({"empty", {sample_values(DType::kUint8, {0, 3}, 0, 255), sample_tensor(f32, {}, {0.02})}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "DequantizeLinear";
  d.doc =
      "y = (x - zero point) * scale, for the tensor, along an axis or in blocks (ONNX DequantizeLinear-25).";
  d.since = 10;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<DequantizeLinearAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_dequantize_linear
