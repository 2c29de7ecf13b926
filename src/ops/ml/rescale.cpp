// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of ai.onnx.ml over rows of features:
//   Binarizer  y = x > threshold ? 1 : 0          Scaler     y = (x - offset) * scale, one of each a feature
//   Imputer    y = x == replaced ? imputed : x    Normalizer y = x / max|x|, x / sum|x| or x / sqrt(sum x^2)
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/ml/scores.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_rescale {
namespace {

void infer_like_input(InferContext& c) { c.set_output(0, c.input(0)); }

void infer_float(InferContext& c) {
  if (c.has_rank(0))
    c.set_output(0, DType::kFloat32, c.shape(0));
  else
    c.set_output(0, DType::kFloat32);
}

/// Element i of a list with one entry for all or one a feature.
template <class List>
auto per_feature(const EvalContext& c, const List& list, int64_t features, const char* name) {
  if (list.size() != 1 && static_cast<int64_t>(list.size()) != features) {
    std::string text = name;
    text += ": expected 1 or ";
    text += std::to_string(features);
    text += " numbers, found ";
    text += std::to_string(list.size());
    c.check(false, text);
  }
  return [&list](int64_t i) { return list[list.size() == 1 ? 0 : static_cast<size_t>(i)]; };
}

int64_t feature_count(const Tensor& x) { return x.rank() == 0 ? 1 : x.dims().back(); }

void evaluate_binarizer(EvalContext& c) {
  const Tensor& x = c.input(0);
  const auto threshold = static_cast<double>(c.attributes().get<float>("threshold", 0));
  std::vector<double> y = x.to_doubles();
  for (double& each : y) each = each > threshold ? 1 : 0;
  store_doubles(y, c.output(0, x.dtype(), x.dims()));
}

void evaluate_scaler(EvalContext& c) {
  const Tensor& x = c.input(0);
  const int64_t features = feature_count(x);
  const Floats offsets = c.attributes().get<Floats>("offset", Floats{0}),
               scales = c.attributes().get<Floats>("scale", Floats{1});
  const auto offset = per_feature(c, offsets, features, "offset");
  const auto scale = per_feature(c, scales, features, "scale");
  std::vector<double> y = x.to_doubles();
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t f = static_cast<int64_t>(i) % features;
    y[i] = (y[i] - static_cast<double>(offset(f))) * static_cast<double>(scale(f));
  }
  store_doubles(y, c.output(0, DType::kFloat32, x.dims()));
}

void evaluate_imputer(EvalContext& c) {
  const Tensor& x = c.input(0);
  const int64_t features = feature_count(x);
  Tensor& y = c.output(0, x.dtype(), x.dims());
  if (is_integer(x.dtype())) {
    const Ints imputed = c.attributes().require<Ints>("imputed_value_int64s");
    const auto value = per_feature(c, imputed, features, "imputed_value_int64s");
    const int64_t replaced = c.attributes().get<int64_t>("replaced_value_int64", 0);
    std::vector<int64_t> values = x.to_int64s();
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] == replaced) values[i] = value(static_cast<int64_t>(i) % features);
    store_integers(y, 0, values);
    return;
  }
  const Floats imputed = c.attributes().require<Floats>("imputed_value_floats");
  const auto value = per_feature(c, imputed, features, "imputed_value_floats");
  const auto replaced = static_cast<double>(c.attributes().get<float>("replaced_value_float", 0));
  std::vector<double> v = x.to_doubles();
  for (size_t i = 0; i < v.size(); ++i)
    if (v[i] == replaced || (std::isnan(v[i]) && std::isnan(replaced)))
      v[i] = static_cast<double>(value(static_cast<int64_t>(i) % features));
  store_doubles(v, y);
}

void evaluate_normalizer(EvalContext& c) {
  const FeatureRows x = feature_rows(c);
  const std::string norm = c.attributes().get<std::string>("norm", "MAX");
  c.check(norm == "MAX" || norm == "L1" || norm == "L2", "norm: expected MAX, L1 or L2, found " + norm);
  std::vector<double> y = x.values;
  for (int64_t i = 0; i < x.rows; ++i) {
    double size = norm == "MAX" && x.features > 0 ? x.row(i)[0] : 0;
    for (int64_t f = 0; f < x.features; ++f) {
      const double v = x.row(i)[f];
      size = norm == "MAX" ? std::max(size, v) : size + (norm == "L1" ? std::fabs(v) : v * v);
    }
    if (norm == "L2") size = std::sqrt(size);
    if (size != 0)
      for (int64_t f = 0; f < x.features; ++f) y[static_cast<size_t>(i * x.features + f)] /= size;
  }
  store_doubles(y, c.output(0, DType::kFloat32, c.input(0).dims()));
}

std::vector<Sample> samples_binarizer() {
  const Attributes half = sample_attributes({{"threshold", float_attribute(0.5f)}});
  return {{"default", {Datum(sample_floats({2, 3}))}, {}},
          {"integers", {Datum(sample_values(DType::kInt64, {4}, -2, 3))}, half},
          {"scalar", {Datum(sample_floats({}))}, half},
          {"empty", {Datum(sample_floats({0, 3}))}, {}}};
}

std::vector<Sample> samples_scaler() {
  const Attributes all = sample_attributes({{"offset", Floats{0.5f}}, {"scale", Floats{2}}});
  const Attributes each = sample_attributes({{"offset", Floats{0.5f, 0, 1}}, {"scale", Floats{2, 3, 4}}});
  return {{"one for all", {Datum(sample_floats({2, 3}))}, all},
          {"one a feature", {Datum(sample_floats({2, 3}))}, each},
          {"integers", {Datum(sample_values(DType::kInt32, {3}, -3, 3))}, each},
          {"empty", {Datum(sample_floats({0, 3}))}, each}};
}

std::vector<Sample> samples_imputer() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Attributes floats = sample_attributes(
      {{"imputed_value_floats", Floats{1, 2}}, {"replaced_value_float", float_attribute(nan)}});
  const Attributes ints =
      sample_attributes({{"imputed_value_int64s", Ints{7}}, {"replaced_value_int64", int_attribute(-1)}});
  return {{"NaN", {Datum(sample_tensor(DType::kFloat32, {2, 2}, {nan, 1, 3, nan}))}, floats},
          {"float64", {Datum(sample_tensor(DType::kFloat64, {1, 2}, {nan, 1}))}, floats},
          {"int64", {Datum(sample_tensor(DType::kInt64, {3}, {-1, 0, 5}))}, ints},
          {"int32", {Datum(sample_tensor(DType::kInt32, {1, 3}, {-1, 0, 5}))}, ints}};
}

std::vector<Sample> samples_normalizer() {
  const auto with = [](const char* norm) { return sample_attributes({{"norm", string_attribute(norm)}}); };
  return {{"max", {Datum(sample_floats({2, 3}))}, with("MAX")},
          {"L1", {Datum(sample_floats({2, 3}))}, with("L1")},
          {"L2 of integers", {Datum(sample_values(DType::kInt64, {4}, -3, 3))}, with("L2")},
          {"zeros", {Datum(sample_values(DType::kFloat32, {1, 3}, 0, 0))}, with("L2")},
          {"empty", {Datum(sample_floats({0, 3}))}, with("L1")}};
}

void add(OpRegistry& registry, const char* name, const char* doc, std::vector<AttributeSpec> attributes,
         void (*infer)(InferContext&), void (*evaluate)(EvalContext&), std::vector<Sample> (*samples)()) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = std::move(attributes);
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add(registry, "Binarizer", "y = x > threshold ? 1 : 0.", {{"threshold", Attribute(0.0f)}}, infer_like_input,
      evaluate_binarizer, samples_binarizer);
  add(registry, "Scaler", "y = (x - offset) * scale, one of each for all features or one a feature.",
      {{"offset", Attribute(Floats{0})}, {"scale", Attribute(Floats{1})}}, infer_float, evaluate_scaler,
      samples_scaler);
  add(registry, "Imputer", "y = x == replaced ? imputed : x.",
      {{"imputed_value_floats", Attribute(Floats{})},
       {"imputed_value_int64s", Attribute(Ints{})},
       {"replaced_value_float", Attribute(0.0f)},
       {"replaced_value_int64", Attribute(int64_t{0})}},
      infer_like_input, evaluate_imputer, samples_imputer);
  add(registry, "Normalizer",
      "y = x / max(x), x / sum|x| or x / sqrt(sum x^2) of its row; x where that is 0.",
      {{"norm", Attribute(std::string("MAX"))}}, infer_float, evaluate_normalizer, samples_normalizer);
}

}  // namespace wootz::op_rescale
