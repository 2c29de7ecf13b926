// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/broadcast_runs.h"
#include "ops/doubles.h"
#include "ops/element_type.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/nn/standardize.h"
#include "ops/reference_threads.h"
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

constexpr int64_t kWorthIt = 1 << 13;  // elements; with fewer a part of its own does not pay

/// An operand's elements for one row [inner], or for all of them where they differ by row.
struct Factors {
  std::vector<double> values;
  bool by_row = false;
  const double* of(int64_t row, int64_t inner) const {
    return values.empty() ? nullptr : values.data() + (by_row ? row * inner : 0);
  }
};

Factors factors_of(const Tensor& operand, const Dims& dims, size_t axis, const char* what) {
  const auto lead = static_cast<int64_t>(axis) - static_cast<int64_t>(dims.size()) + operand.rank();
  const bool by_row = std::any_of(operand.dims().begin(), operand.dims().begin() + std::max<int64_t>(lead, 0),
                                  [](int64_t n) { return n != 1; });
  if (by_row) return {broadcast_doubles(operand, dims, what), true};
  Dims row(operand.dims().begin() + std::max<int64_t>(lead, 0), operand.dims().end());
  const Tensor shared = Tensor::view(operand.dtype(), row, const_cast<void*>(operand.data()), nullptr);
  return {broadcast_doubles(shared, std::span(dims).subspan(axis), what), false};
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LayerNormalizationAttributes>();
  const Tensor& x = c.input(0);
  const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
  Dims dims = x.dims();
  const int64_t inner = dims_product(dims, axis, dims.size()), rows = dims_product(dims, 0, axis);
  const Factors scale = factors_of(c.input(1), dims, axis, "scale"),
                bias = c.has_input(2) ? factors_of(c.input(2), dims, axis, "bias") : Factors();
  // Of rows without elements: the mean of nothing.
  std::vector<double> means(static_cast<size_t>(rows), std::numeric_limits<double>::quiet_NaN()),
      deviations = means;
  Tensor& y = c.output(0, x.dtype(), dims);
  if (inner > 0)
    in_parts(rows, std::max<int64_t>(1, kWorthIt / inner), [&](int64_t begin, int64_t end) {
      std::vector<double> row(static_cast<size_t>(inner));
      for (int64_t r = begin; r < end; ++r) {
        load_run(x, r * inner, 1, row.size(), row.data());
        const Moments m = standardize(row, a.epsilon);
        means[static_cast<size_t>(r)] = m.mean;
        deviations[static_cast<size_t>(r)] = m.inverse_deviation;
        scale_each(row, scale.of(r, inner), bias.of(r, inner));
        store_reals(y, r * inner, row);
      }
    });
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
