// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/dtype_set.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_batch_normalization {
namespace {

/// Before opset 14 the outputs tell the mode; outputs 3 and 4 are the statistics of this batch.
void canonicalize(CanonicalizeContext& c) {
  Node& node = c.node();
  if (c.opset() >= 14) return;
  node.attributes.erase("consumed_inputs");
  node.attributes.erase("is_test");  // how a model was trained, not how it is used
  if (node.output(1) || node.output(2) || node.output(3) || node.output(4))
    node.attributes.set("training_mode", int64_t{1});
  if (c.opset() >= 9) node.attributes.erase("spatial");
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<BatchNormalizationAttributes>();
  c.check(kRealTypes.contains(c.dtype(0)),
          "expected data of " + kRealTypes.names() + ", found " + std::string(dtype_name(c.dtype(0))));
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0)) {
    c.check(c.rank(0) >= 1, "expected data [N,C,...], found a scalar");
    const Dim channels = c.rank(0) > 1 ? c.shape(0)[1] : Dim(1);
    for (size_t i = 1; a.spatial && i < 5; ++i)
      if (c.has_rank(i)) {
        c.check_rank(i, 1);
        c.equate(c.shape(i)[0], channels, "channels of the data and of scale, bias, mean and variance");
      }
  }
  c.set_output(0, y);
  for (size_t i = 1; i < 5; ++i) {
    Type t = Type::tensor(c.dtype(3));
    t.shape = c.input(3).shape;
    c.set_output(i, t);
  }
}

struct Statistics {
  std::vector<double> mean, variance;
};

/// x seen as [batch, channels, inner].
Statistics batch_statistics(const std::vector<double>& x, size_t batch, size_t channels, size_t inner) {
  Statistics s{std::vector<double>(channels), std::vector<double>(channels)};
  const double count = static_cast<double>(batch * inner);
  const auto each = [&](auto f) {
    for (size_t n = 0; n < batch; ++n)
      for (size_t ch = 0; ch < channels; ++ch)
        for (size_t i = 0; i < inner; ++i) f(ch, x[(n * channels + ch) * inner + i]);
  };
  each([&](size_t ch, double v) { s.mean[ch] += v; });
  for (double& m : s.mean) m /= count;
  each([&](size_t ch, double v) { s.variance[ch] += (v - s.mean[ch]) * (v - s.mean[ch]); });
  for (double& v : s.variance) v /= count;
  return s;
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<BatchNormalizationAttributes>();
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 1, "expected data [N,C,...], found a scalar");
  const Dims& dims = x.dims();
  const int64_t per_sample = dims_product(dims, 1, dims.size());
  const int64_t channels = !a.spatial ? per_sample : dims.size() > 1 ? dims[1] : 1;
  for (size_t i = 1; i < 5; ++i)
    c.check(c.input(i).size() == channels, "input " + std::to_string(i) + ": expected " +
                                               std::to_string(channels) + " elements for data " +
                                               dims_text(dims) + ", found " + dims_text(c.input(i).dims()));
  const size_t batch = static_cast<size_t>(dims[0]), count = static_cast<size_t>(channels);
  const size_t inner = channels == 0 ? 0 : static_cast<size_t>(per_sample / channels);
  const std::vector<double> scale = c.input(1).to_doubles(), bias = c.input(2).to_doubles();
  std::vector<double> values = x.to_doubles();
  Statistics used{c.input(3).to_doubles(), c.input(4).to_doubles()};
  if (a.training_mode) {
    const Statistics now = batch_statistics(values, batch, count, inner);
    const double m = a.momentum;
    for (size_t i = 0; i < count; ++i) {
      used.mean[i] = used.mean[i] * m + now.mean[i] * (1 - m);
      used.variance[i] = used.variance[i] * m + now.variance[i] * (1 - m);
    }
    const std::vector<double>* extra[] = {&used.mean, &used.variance, &now.mean, &now.variance};
    for (size_t i = 0; i < 4; ++i)
      if (c.wants_output(i + 1))
        store_doubles(*extra[i], c.output(i + 1, c.input(3).dtype(), c.input(3).dims()));
    used = now;
  }
  for (size_t n = 0; n < batch; ++n)
    for (size_t ch = 0; ch < count; ++ch) {
      const double by = scale[ch] / std::sqrt(used.variance[ch] + static_cast<double>(a.epsilon));
      for (size_t i = 0; i < inner; ++i) {
        double& v = values[(n * count + ch) * inner + i];
        v = (v - used.mean[ch]) * by + bias[ch];
      }
    }
  store_doubles(values, c.output(0, x.dtype(), dims));
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  const auto inputs = [](Dims x, int64_t channels, DType t = DType::kFloat32) {
    return std::vector<Datum>{sample_floats(std::move(x), 1, t), sample_floats({channels}, 2, t),
                              sample_floats({channels}, 3, t), sample_floats({channels}, 4, t),
                              sample_values(t, {channels}, 0.1, 2, 5)};
  };
  s.push_back({"images", inputs({2, 3, 4, 5}, 3), {}});
  s.push_back({"epsilon", inputs({1, 2, 3, 3}, 2), sample_attributes({{"epsilon", float_attribute(0.01f)}})});
  s.push_back({"no spatial axes", inputs({4, 3}, 3), {}});
  s.push_back({"one axis counts as one channel", inputs({4}, 1), {}});
  s.push_back({"three spatial axes", inputs({1, 2, 2, 3, 2}, 2), {}});
  s.push_back(
      {"training", inputs({3, 2, 4, 2}, 2), sample_attributes({{"training_mode", int_attribute(1)}}), 3});
  s.push_back({"float16", inputs({1, 3, 4, 4}, 3, DType::kFloat16), {}});
  s.push_back({"float64", inputs({1, 3, 4, 4}, 3, DType::kFloat64), {}});
  s.push_back({"empty batch", inputs({0, 3, 4, 4}, 3), {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "BatchNormalization";
  d.doc =
      "y = (x - mean) / sqrt(variance + epsilon) * scale + bias for each channel; in training mode with this "
      "batch's "
      "statistics, and running ones as outputs (ONNX BatchNormalization-15).";
  d.min_inputs = d.max_inputs = 5;
  d.max_outputs = 5;
  d.attributes = attribute_specs<BatchNormalizationAttributes>();
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_batch_normalization
