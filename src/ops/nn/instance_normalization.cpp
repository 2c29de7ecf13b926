// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/broadcast_runs.h"
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/nn/standardize.h"
#include "ops/pointwise.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_instance_normalization {
namespace {

void infer(InferContext& c) {
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0)) {
    c.check(c.rank(0) >= 2, "expected data [N,C,...], found rank " + std::to_string(c.rank(0)));
    for (size_t i = 1; i < 3; ++i)
      if (c.has_rank(i)) {
        c.check_rank(i, 1);
        c.equate(c.shape(i)[0], c.shape(0)[1], "channels of the data and of scale and bias");
      }
  }
  c.set_output(0, y);
}

constexpr int64_t kWorthIt = 1 << 13;  // elements; with fewer a part of its own does not pay

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<InstanceNormalizationAttributes>();
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2, "expected data [N,C,...], found " + dims_text(x.dims()));
  const size_t channels = static_cast<size_t>(x.dims()[1]);
  const size_t inner = static_cast<size_t>(dims_product(x.dims(), 2, x.dims().size()));
  for (size_t i = 1; i < 3; ++i)
    c.check(c.input(i).size() == x.dims()[1], "input " + std::to_string(i) + ": expected [" +
                                                  std::to_string(channels) + "], found " +
                                                  dims_text(c.input(i).dims()));
  const std::vector<double> scale = c.input(1).to_doubles(), bias = c.input(2).to_doubles();
  Tensor& y = c.output(0, x.dtype(), x.dims());
  if (x.size() == 0) return;
  const auto planes = x.size() / static_cast<int64_t>(inner);
  in_parts(planes, std::max<int64_t>(1, kWorthIt / static_cast<int64_t>(inner)),
           [&](int64_t begin, int64_t end) {
             std::vector<double> plane(inner);
             for (int64_t i = begin; i < end; ++i) {
               const int64_t at = i * static_cast<int64_t>(inner);
               load_run(x, at, 1, inner, plane.data());
               standardize(plane, a.epsilon);
               const size_t k = static_cast<size_t>(i) % channels;
               scale_all(plane, 0, scale[k], bias[k]);
               store_reals(y, at, plane);
             }
           });
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  const auto inputs = [](Dims x, int64_t channels, DType t = DType::kFloat32) {
    return std::vector<Datum>{sample_floats(std::move(x), 1, t), sample_floats({channels}, 2, t),
                              sample_floats({channels}, 3, t)};
  };
  s.push_back({"images", inputs({2, 3, 4, 5}, 3), {}});
  s.push_back({"epsilon", inputs({1, 2, 3, 3}, 2), sample_attributes({{"epsilon", float_attribute(0.01f)}})});
  s.push_back({"one spatial axis", inputs({2, 3, 9}, 3), {}});
  s.push_back({"one pixel gives the bias", inputs({2, 3, 1, 1}, 3), {}});
  s.push_back({"three spatial axes", inputs({1, 2, 2, 3, 2}, 2), {}});
  s.push_back({"float16", inputs({1, 3, 4, 4}, 3, DType::kFloat16), {}});
  s.push_back({"empty batch", inputs({0, 3, 4, 4}, 3), {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "InstanceNormalization";
  d.doc =
      "y = scale * (x - mean) / sqrt(variance + epsilon) + bias, with mean and variance of each channel of "
      "each sample "
      "(ONNX InstanceNormalization-22).";
  d.min_inputs = d.max_inputs = 3;
  d.attributes = attribute_specs<InstanceNormalizationAttributes>();
  d.fusion = FusionKind::kReduction;
  d.canonicalize = canonicalize_consumed_inputs;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_instance_normalization
