// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/doubles.h"
#include "ops/element_type.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/nn/standardize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_layer_normalization {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<LayerNormalizationAttributes>();
  Type y = Type::tensor(c.dtype(0)), statistic = Type::tensor(element_type(a.stash_type, "stash_type"));
  y.shape = statistic.shape = c.input(0).shape;
  if (c.has_rank(0)) {
    const int64_t axis = c.normalize_axis(a.axis, c.rank(0));
    for (size_t i = static_cast<size_t>(axis); i < y.shape->size(); ++i) (*statistic.shape)[i] = 1;
    for (size_t i = 1; i < 3; ++i)
      if (c.has_rank(i)) c.broadcast(c.shape(0), c.shape(i));
  }
  c.set_output(0, y);
  c.set_output(1, statistic);
  c.set_output(2, statistic);
}

/// values[i] = op(values[i], operand element i), the operand broadcast to `dims`.
template <class Op>
void apply(std::vector<double>& values, const Tensor& operand, const Dims& dims, const char* what, Op op) {
  const std::vector<double> elements = operand.to_doubles();
  Odometer at(dims, {broadcast_strides(operand.dims(), dims, what)});
  for (double& v : values) {
    v = op(v, elements[static_cast<size_t>(at.offset(0))]);
    at.next();
  }
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LayerNormalizationAttributes>();
  const Tensor& x = c.input(0);
  const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
  Dims dims = x.dims();
  const size_t inner = static_cast<size_t>(dims_product(dims, axis, dims.size()));
  std::vector<double> values = x.to_doubles(), means, deviations;
  for (size_t i = 0; inner && i < values.size(); i += inner) {
    const Moments m = standardize(std::span(values).subspan(i, inner), a.epsilon);
    means.push_back(m.mean);
    deviations.push_back(m.inverse_deviation);
  }
  if (!inner) {  // the mean of nothing
    const auto rows = static_cast<size_t>(dims_product(dims, 0, axis));
    means.assign(rows, std::numeric_limits<double>::quiet_NaN());
    deviations = means;
  }
  apply(values, c.input(1), dims, "scale", [](double v, double s) { return v * s; });
  if (c.has_input(2)) apply(values, c.input(2), dims, "bias", [](double v, double b) { return v + b; });
  store_doubles(values, c.output(0, x.dtype(), dims));
  std::fill(dims.begin() + static_cast<long>(axis), dims.end(), 1);
  const DType stash = element_type(a.stash_type, "stash_type");
  if (c.wants_output(1)) store_doubles(means, c.output(1, stash, dims));
  if (c.wants_output(2)) store_doubles(deviations, c.output(2, stash, dims));
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  const auto inputs = [](Dims x, Dims scale, DType t = DType::kFloat32) {
    return std::vector<Datum>{sample_floats(std::move(x), 1, t), sample_floats(scale, 2, t),
                              sample_floats(scale, 3, t)};
  };
  s.push_back({"last axis", inputs({2, 3, 8}, {8}), {}});
  s.push_back({"with statistics", inputs({2, 3, 8}, {8}),
               sample_attributes({{"epsilon", float_attribute(0.01f)}}), 3});
  s.push_back({"two axes", inputs({2, 3, 4, 5}, {4, 5}), sample_attributes({{"axis", int_attribute(2)}}), 3});
  s.push_back({"all axes", inputs({3, 4}, {3, 4}), sample_attributes({{"axis", int_attribute(0)}}), 3});
  s.push_back(
      {"broadcast scale", inputs({2, 3, 4}, {1, 4}), sample_attributes({{"axis", int_attribute(-2)}})});
  s.push_back({"no bias", {sample_floats({4, 5}), sample_floats({5}, 2)}, {}});
  s.push_back({"one element gives the bias", inputs({3, 1}, {1}), {}});
  s.push_back({"float16", inputs({3, 16}, {16}, DType::kFloat16), {}, 3});
  s.push_back({"bfloat16", inputs({3, 16}, {16}, DType::kBFloat16), {}});
  s.push_back({"empty", inputs({0, 4}, {4}), {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LayerNormalization";
  d.doc =
      "y = (x - mean) / sqrt(variance + epsilon) * scale + bias, statistics over the dims from axis on; "
      "optional outputs "
      "mean and 1 / sqrt(variance + epsilon) (ONNX LayerNormalization-17).";
  d.since = 17;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.max_outputs = 3;
  d.attributes = attribute_specs<LayerNormalizationAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_layer_normalization
