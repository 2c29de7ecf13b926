// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_rms_normalization {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<LayerNormalizationAttributes>();
  Type y = Type::tensor(c.dtype(1));
  y.shape = c.input(0).shape;
  if (c.has_rank(0)) {
    c.normalize_axis(a.axis, c.rank(0));
    if (c.has_rank(1)) c.broadcast(c.shape(0), c.shape(1));
  }
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LayerNormalizationAttributes>();
  const Tensor &x = c.input(0), &scale = c.input(1);
  const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
  const size_t inner = static_cast<size_t>(dims_product(x.dims(), axis, x.dims().size()));
  std::vector<double> values = x.to_doubles();
  const std::vector<double> scales = scale.to_doubles();
  Odometer at(x.dims(), {broadcast_strides(scale.dims(), x.dims(), "scale")});
  for (size_t first = 0; inner && first < values.size(); first += inner) {
    double sum = 0;
    for (size_t i = 0; i < inner; ++i) sum += values[first + i] * values[first + i];
    const double rms = std::sqrt(sum / static_cast<double>(inner) + static_cast<double>(a.epsilon));
    for (size_t i = 0; i < inner; ++i, at.next())
      values[first + i] = values[first + i] / rms * scales[static_cast<size_t>(at.offset(0))];
  }
  store_doubles(values, c.output(0, scale.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed, DType t = DType::kFloat32) {
    return Datum(sample_floats(std::move(d), seed, t));
  };
  std::vector<Sample> s;
  s.push_back({"last axis", {f({2, 3, 8}, 1), f({8}, 2)}, {}});
  s.push_back({"two axes", {f({2, 3, 4}, 1), f({3, 4}, 2)}, sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"broadcast scale",
               {f({2, 3, 4}, 1), f({1}, 2)},
               sample_attributes({{"axis", int_attribute(-2)}, {"epsilon", float_attribute(0.1f)}})});
  s.push_back({"float16", {f({3, 16}, 1, DType::kFloat16), f({16}, 2, DType::kFloat16)}, {}});
  s.push_back({"zeros", {sample_values(DType::kFloat32, {2, 4}, 0, 0), f({4}, 2)}, {}});
  s.push_back({"empty", {f({0, 4}, 1), f({4}, 2)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "RMSNormalization";
  d.doc =
      "y = x / sqrt(mean of x^2 + epsilon) * scale over the dims from axis on (ONNX RMSNormalization-23).";
  d.since = 23;
  d.min_inputs = d.max_inputs = 2;
  d.attributes = attribute_specs<LayerNormalizationAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_rms_normalization
