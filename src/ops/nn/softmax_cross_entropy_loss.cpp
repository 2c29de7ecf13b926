// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/nn/class_loss.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_softmax_cross_entropy_loss {
namespace {

void infer(InferContext& c) {
  infer_class_loss(c);
  Type log_prob = Type::tensor(c.dtype(0));
  log_prob.shape = c.input(0).shape;
  c.set_output(1, log_prob);
}

void evaluate(EvalContext& c) {
  const Dims& x = c.input(0).dims();
  c.check(x.size() >= 2, "expected scores [N,C,...], found " + dims_text(x));
  std::vector<double> values = c.input(0).to_doubles();
  const int64_t classes = x[1], inner = dims_product(x, 2, x.size());
  for (int64_t i = 0; classes > 0 && i < x[0] * inner; ++i) {
    double* line = values.data() + i / inner * classes * inner + i % inner;
    double top = line[0], sum = 0;
    for (int64_t k = 1; k < classes; ++k) top = std::max(top, line[k * inner]);
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(line[k * inner] - top);
    for (int64_t k = 0; k < classes; ++k) line[k * inner] -= top + std::log(sum);
  }
  store_class_loss(c, values);
  if (c.wants_output(1)) store_doubles(values, c.output(1, c.input(0).dtype(), x));
}

std::vector<Sample> samples() {
  const Datum labels = sample_tensor(DType::kInt64, {3}, {0, 3, 1}),
              plane = sample_tensor(DType::kInt32, {2, 2}, {0, 2, 1, 1});
  const auto reduction = [](const char* r) {
    return sample_attributes({{"reduction", string_attribute(r)}});
  };
  std::vector<Sample> s;
  s.push_back({"mean", {sample_floats({3, 4}), labels}, {}});
  s.push_back({"none with log-probabilities", {sample_floats({3, 4}), labels}, reduction("none"), 2});
  s.push_back({"weighted sum",
               {sample_floats({2, 3, 2}), plane, sample_values(DType::kFloat32, {3}, 0.1, 1)},
               reduction("sum")});
  s.push_back({"weighted mean, ignored label",
               {sample_floats({2, 3, 2}), plane, sample_values(DType::kFloat32, {3}, 0.1, 1)},
               sample_attributes({{"ignore_index", int_attribute(1)}}),
               2});
  s.push_back({"large scores", {sample_values(DType::kFloat32, {3, 4}, -999, 999), labels}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "SoftmaxCrossEntropyLoss";
  d.doc =
      "-log softmax(scores)[n, label, ...] * weight[label], as it is, summed or averaged; optional output "
      "log softmax "
      "(ONNX SoftmaxCrossEntropyLoss-13).";
  d.since = 12;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.max_outputs = 2;
  d.attributes = attribute_specs<ClassLossAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_softmax_cross_entropy_loss
