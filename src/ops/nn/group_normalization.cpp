// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/nn/standardize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_group_normalization {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<GroupNormalizationAttributes>();
  c.check(a.num_groups > 0, "num_groups: expected a positive number, found " + std::to_string(a.num_groups));
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0))
    c.check(c.rank(0) >= 2, "expected data [N,C,...], found rank " + std::to_string(c.rank(0)));
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<GroupNormalizationAttributes>();
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2 && a.num_groups > 0 && x.dims()[1] % a.num_groups == 0,
          "expected data [N,C,...] with C a multiple of num_groups = " + std::to_string(a.num_groups) +
              ", found " + dims_text(x.dims()));
  const int64_t channels = x.dims()[1], per_group = channels / a.num_groups;
  const size_t inner = static_cast<size_t>(dims_product(x.dims(), 2, x.dims().size())),
               group = inner * static_cast<size_t>(per_group);
  std::vector<double> values = x.to_doubles();
  const std::vector<double> scale = c.input(1).to_doubles(), bias = c.input(2).to_doubles();
  const auto fits = [&](const std::vector<double>& v) {
    return static_cast<int64_t>(v.size()) == channels || static_cast<int64_t>(v.size()) == a.num_groups;
  };
  c.check(fits(scale) && scale.size() == bias.size(), "scale and bias: expected " + std::to_string(channels) +
                                                          " or (opset 18) " + std::to_string(a.num_groups) +
                                                          " elements, found " + std::to_string(scale.size()) +
                                                          " and " + std::to_string(bias.size()));
  const size_t shared = static_cast<int64_t>(scale.size()) == channels ? 1 : static_cast<size_t>(per_group);
  for (size_t first = 0; group && first < values.size(); first += group) {
    standardize(std::span(values).subspan(first, group), a.epsilon);
    for (size_t i = first; i < first + group; ++i) {
      const size_t k = i / inner % static_cast<size_t>(channels) / shared;
      values[i] = values[i] * scale[k] + bias[k];
    }
  }
  store_doubles(values, c.output(0, x.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed, DType t = DType::kFloat32) {
    return Datum(sample_floats(std::move(d), seed, t));
  };
  const auto groups = [](int64_t n) { return sample_attributes({{"num_groups", int_attribute(n)}}); };
  std::vector<Sample> s;
  s.push_back({"2 groups", {f({2, 4, 3, 3}, 1), f({4}, 2), f({4}, 3)}, groups(2)});
  s.push_back({"scale of each group", {f({2, 6, 3}, 1), f({2}, 2), f({2}, 3)}, groups(2)});
  s.push_back({"one group", {f({2, 4, 5}, 1), f({4}, 2), f({4}, 3)}, groups(1)});
  s.push_back({"groups of one channel", {f({1, 4, 5}, 1), f({4}, 2), f({4}, 3)}, groups(4)});
  s.push_back({"no spatial axes", {f({3, 4}, 1), f({4}, 2), f({4}, 3)}, groups(2)});
  s.push_back({"float16",
               {f({1, 4, 5}, 1, DType::kFloat16), f({4}, 2, DType::kFloat16), f({4}, 3, DType::kFloat16)},
               groups(2)});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "GroupNormalization";
  d.doc =
      "y = scale * (x - mean) / sqrt(variance + epsilon) + bias, statistics of each group of channels of "
      "each sample "
      "(ONNX GroupNormalization-21).";
  d.since = 18;
  d.min_inputs = d.max_inputs = 3;
  d.attributes = attribute_specs<GroupNormalizationAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_group_normalization
