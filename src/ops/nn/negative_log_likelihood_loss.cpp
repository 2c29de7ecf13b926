// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/class_loss.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_negative_log_likelihood_loss {
namespace {

void evaluate(EvalContext& c) { store_class_loss(c, c.input(0).to_doubles()); }

std::vector<Sample> samples() {
  const Datum labels = sample_tensor(DType::kInt64, {3}, {0, 3, 1}),
              plane = sample_tensor(DType::kInt32, {2, 2}, {0, 2, 1, 1});
  const auto reduction = [](const char* r) {
    return sample_attributes({{"reduction", string_attribute(r)}});
  };
  std::vector<Sample> s;
  s.push_back({"mean", {sample_floats({3, 4}), labels}, {}});
  s.push_back({"none", {sample_floats({3, 4}), labels}, reduction("none")});
  s.push_back({"weighted sum",
               {sample_floats({2, 3, 2}), plane, sample_values(DType::kFloat32, {3}, 0.1, 1)},
               reduction("sum")});
  s.push_back({"ignored label",
               {sample_floats({2, 3, 2}), plane, sample_values(DType::kFloat32, {3}, 0.1, 1)},
               sample_attributes({{"ignore_index", int_attribute(1)}})});
  s.push_back({"ignored label outside",
               {sample_floats({3, 4}), sample_tensor(DType::kInt64, {3}, {0, -100, 1})},
               sample_attributes({{"ignore_index", int_attribute(-100)}})});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "NegativeLogLikelihoodLoss";
  d.doc =
      "-x[n, label, ...] * weight[label] of log-probabilities x, as it is, summed or averaged (ONNX "
      "NegativeLogLikelihoodLoss-22).";
  d.since = 12;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<ClassLossAttributes>();
  d.infer = infer_class_loss;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_negative_log_likelihood_loss
