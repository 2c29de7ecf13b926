// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/element_type.h"
#include "ops/evaluate.h"
#include "ops/quantize/quantize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_quantize_linear {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<QuantizeLinearAttributes>();
  Type y = Type::tensor(c.has_input(2)   ? c.dtype(2)
                        : a.output_dtype ? element_type(a.output_dtype, "output_dtype")
                                         : DType::kUint8);
  if (c.has_input(2) && a.output_dtype)
    c.check(a.output_dtype == static_cast<int64_t>(y.dtype),
            "output_dtype: expected the zero point's " + std::string(dtype_name(y.dtype)) + ", found " +
                std::string(dtype_name(element_type(a.output_dtype, "output_dtype"))));
  c.check(
      is_integer(y.dtype) || (is_float(y.dtype) && dtype_size(y.dtype) == 1),
      "expected integers or floats of at most 8 bits as output, found " + std::string(dtype_name(y.dtype)));
  if (a.precision) element_type(a.precision, "precision");
  y.shape = c.input(0).shape;
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<QuantizeLinearAttributes>();
  const Tensor &x = c.input(0), &scale = c.input(1);
  const QuantizeGranularity g = quantize_granularity(a.axis, a.block_size, x.dims(), scale.dims());
  const DType type = c.has_input(2)   ? c.input(2).dtype()
                     : a.output_dtype ? element_type(a.output_dtype, "output_dtype")
                                      : DType::kUint8;
  const std::vector<double> scales = scale.to_doubles();
  const std::vector<double> zeros =
      c.has_input(2) ? c.input(2).to_doubles() : std::vector<double>(scales.size(), 0);
  c.check(zeros.size() == scales.size(), "zero point: expected the scale's dims " + dims_text(scale.dims()) +
                                             ", found " + std::to_string(zeros.size()) + " elements");
  std::vector<double> values = x.to_doubles();
  // The division is one of the scale's type (or of `precision`): ties are decided there.
  DType precision = a.precision ? element_type(a.precision, "precision") : scale.dtype();
  if (precision == DType::kFloat8E8M0) precision = DType::kFloat32;
  const auto quotient = [&](int64_t i, int64_t s) {
    const double v = values[static_cast<size_t>(i)], by = scales[static_cast<size_t>(s)];
    if (precision == DType::kFloat64) return v / by;
    if (precision == DType::kFloat32)
      return static_cast<double>(static_cast<float>(v) / static_cast<float>(by));
    return round_to(precision, round_to(precision, v) / by);
  };
  Tensor& y = c.output(0, type, x.dims());
  if (is_float(type)) {
    uint8_t* out = y.as<uint8_t>();
    for_each_quantized(g, [&](int64_t i, int64_t s) {
      out[i] = small_from_float(type, static_cast<float>(quotient(i, s) + zeros[static_cast<size_t>(s)]),
                                a.saturate != 0);
    });
    return;
  }
  const auto [low, high] = integer_range(type);
  for_each_quantized(g, [&, low = low, high = high](int64_t i, int64_t s) {
    values[static_cast<size_t>(i)] =
        std::clamp(std::nearbyint(quotient(i, s)) + zeros[static_cast<size_t>(s)], low, high);
  });
  store_doubles(values, y);
}

std::vector<Sample> samples() {
  const DType f32 = DType::kFloat32;
  const auto x = [](Dims d, DType t = DType::kFloat32) { return sample_values(t, std::move(d), -3, 3); };
  const auto scale = [](Dims d) { return sample_values(DType::kFloat32, std::move(d), 0.01, 0.1, 2); };
  const auto axis = [](int64_t a) { return sample_attributes({{"axis", int_attribute(a)}}); };
  std::vector<Sample> s;
  s.push_back({"no zero point", {x({3, 5}), sample_tensor(f32, {}, {0.02})}, {}});
  s.push_back(
      {"uint8", {x({3, 5}), sample_tensor(f32, {}, {0.02}), sample_tensor(DType::kUint8, {}, {128})}, {}});
  s.push_back(
      {"int8 per axis", {x({2, 3, 4}), scale({3}), sample_values(DType::kInt8, {3}, -9, 9)}, axis(1)});
  s.push_back({"uint16 per axis from the back",
               {x({2, 4}), scale({4}), sample_values(DType::kUint16, {4}, 0, 900)},
               axis(-1)});
  s.push_back({"ties to even",
               {sample_tensor(f32, {6}, {0.5, 1.5, 2.5, -0.5, -1.5, -2.5}), sample_tensor(f32, {}, {1}),
                sample_tensor(DType::kInt8, {}, {0})},
               {}});
  s.push_back({"saturates",
               {sample_tensor(f32, {4}, {-1000, 1000, 0, 3}), sample_tensor(f32, {}, {1}),
                sample_tensor(DType::kUint8, {}, {10})},
               {}});
  s.push_back({"int4 blocks",
               {x({2, 7}), scale({2, 3}), sample_values(DType::kInt4, {2, 3}, -3, 3)},
               sample_attributes({{"axis", int_attribute(1)}, {"block_size", int_attribute(3)}})});
  s.push_back({"uint2", {x({5}), sample_tensor(f32, {}, {1}), sample_tensor(DType::kUint2, {}, {1})}, {}});
  s.push_back(
      {"float8", {x({7}), sample_tensor(f32, {}, {0.5}), sample_tensor(DType::kFloat8E4M3FN, {}, {0})}, {}});
  for (DType narrow : {DType::kFloat6E2M3, DType::kFloat6E3M2, DType::kFloat4E2M1})
    s.push_back({std::string(dtype_name(narrow)),
                 {x({9}), sample_tensor(f32, {}, {0.3}), sample_tensor(narrow, {}, {0})},
                 {}});
  s.push_back({"float16",
               {x({7}, DType::kFloat16), sample_tensor(DType::kFloat16, {}, {0.02}),
                sample_tensor(DType::kInt8, {}, {3})},
               {}});
  s.push_back({"int32 data",
               {sample_values(DType::kInt32, {7}, -99, 99), sample_tensor(f32, {}, {0.7}),
                sample_tensor(DType::kInt8, {}, {3})},
               {}});
  s.push_back({"empty", {x({0, 3}), sample_tensor(f32, {}, {0.02})}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "QuantizeLinear";
  d.doc =
      "y = saturate(round_half_to_even(x / scale) + zero point), for the tensor, along an axis or in blocks "
      "(ONNX QuantizeLinear-25).";
  d.since = 10;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<QuantizeLinearAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_quantize_linear
