// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_mean_variance_normalization {
namespace {

struct MvnAttributes {
  Ints axes = {0, 2, 3};
  template <class V>
  void reflect(V& v) {
    v("axes", axes);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<MvnAttributes>();
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0))
    for (int64_t axis : a.axes) c.normalize_axis(axis, c.rank(0), "axes");
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<MvnAttributes>();
  const Tensor& x = c.input(0);
  Dims kept = x.dims();
  for (int64_t axis : a.axes) kept[static_cast<size_t>(c.normalize_axis(axis, x.rank(), "axes"))] = 1;
  const Dims strides = broadcast_strides(kept, x.dims(), "statistics");
  std::vector<double> values = x.to_doubles(), mean(static_cast<size_t>(element_count(kept))),
                      variance(mean.size());
  const double count = static_cast<double>(values.size()) / static_cast<double>(mean.size());
  const auto each = [&](auto f) {
    Odometer at(x.dims(), {strides});
    for (double& v : values) {
      f(v, static_cast<size_t>(at.offset(0)));
      at.next();
    }
  };
  each([&](double v, size_t s) { mean[s] += v / count; });
  each([&](double v, size_t s) { variance[s] += (v - mean[s]) * (v - mean[s]) / count; });
  // The specification's function body adds 1e-9 to the deviation.
  each([&](double& v, size_t s) { v = (v - mean[s]) / (std::sqrt(variance[s]) + 1e-9); });
  store_doubles(values, c.output(0, x.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"default axes", {sample_floats({2, 3, 4, 4})}, {}});
  s.push_back({"one axis", {sample_floats({3, 5})}, sample_attributes({{"axes", ints_attribute({1})}})});
  s.push_back(
      {"negative axes", {sample_floats({2, 3, 4})}, sample_attributes({{"axes", ints_attribute({-1, 0})}})});
  s.push_back({"constant data gives zero", {sample_values(DType::kFloat32, {1, 2, 2, 2}, 3, 3)}, {}});
  s.push_back({"float16", {sample_floats({2, 3, 4, 4}, 1, DType::kFloat16)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MeanVarianceNormalization";
  d.doc = "y = (x - mean) / (sqrt(variance) + 1e-9) over the axes (ONNX MeanVarianceNormalization-13).";
  d.since = 9;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<MvnAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_mean_variance_normalization
