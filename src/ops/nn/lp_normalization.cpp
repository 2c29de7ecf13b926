// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_lp_normalization {
namespace {

struct LpNormalizationAttributes {
  int64_t axis = -1, p = 2;
  float epsilon = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("p", p);
    v("epsilon", epsilon);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<LpNormalizationAttributes>();
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0)) c.normalize_axis(a.axis, c.rank(0));
  c.check(a.p == 1 || a.p == 2, "p: expected 1 or 2, found " + std::to_string(a.p));
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LpNormalizationAttributes>();
  const Tensor& x = c.input(0);
  const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
  const int64_t length = x.dims()[axis], stride = dims_product(x.dims(), axis + 1, x.dims().size());
  std::vector<double> values = x.to_doubles();
  const int64_t lines = length ? x.size() / length : 0;
  for (int64_t i = 0; i < lines; ++i) {
    double* line = values.data() + i / stride * length * stride + i % stride;
    double norm = 0;
    for (int64_t k = 0; k < length; ++k)
      norm += a.p == 1 ? std::fabs(line[k * stride]) : line[k * stride] * line[k * stride];
    if (a.p == 2) norm = std::sqrt(norm);
    const double divisor = std::max(norm, static_cast<double>(a.epsilon));
    for (int64_t k = 0; norm != 0 && k < length; ++k) line[k * stride] /= divisor;
  }
  store_doubles(values, c.output(0, x.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const auto with = [](int64_t axis, int64_t p) {
    return sample_attributes({{"axis", int_attribute(axis)}, {"p", int_attribute(p)}});
  };
  std::vector<Sample> s;
  s.push_back({"2-norm", {sample_floats({3, 4})}, {}});
  s.push_back({"1-norm along axis 0", {sample_floats({3, 4})}, with(0, 1)});
  s.push_back({"middle axis", {sample_floats({2, 3, 4})}, with(1, 2)});
  s.push_back({"zeros stay zero", {sample_values(DType::kFloat32, {2, 3}, 0, 0)}, {}});
  s.push_back(
      {"a least divisor", {sample_floats({3, 4})}, sample_attributes({{"epsilon", float_attribute(2.0f)}})});
  s.push_back({"empty", {sample_floats({0, 3})}, {}});
  s.push_back({"float64", {sample_floats({5}, 1, DType::kFloat64)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LpNormalization";
  d.doc =
      "y = x / p-norm of its line along the axis; a line of zeros stays zero (ONNX LpNormalization-22). The "
      "divisor is "
      "at least epsilon (no attribute of ONNX: torch.nn.functional.normalize becomes this node).";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<LpNormalizationAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_lp_normalization
