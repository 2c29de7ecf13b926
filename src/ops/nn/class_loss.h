// SPDX-License-Identifier: Apache-2.0
// What NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

struct ClassLossAttributes {
  std::optional<int64_t> ignore_index;
  std::string reduction = "mean";  // none, sum, mean
  template <class V>
  void reflect(V& v) {
    v("ignore_index", ignore_index);
    v("reduction", reduction);
  }
};

/// Output 0 of a loss over scores [N, C, ...] (input 0) and labels [N, ...] (input 1).
inline void infer_class_loss(InferContext& c) {
  const auto a = c.attributes_as<ClassLossAttributes>();
  c.check(a.reduction == "none" || a.reduction == "sum" || a.reduction == "mean",
          "reduction: expected none, sum or mean, found '" + a.reduction + "'");
  if (a.reduction != "none") return c.set_output(0, c.dtype(0), Shape{});
  Type loss = Type::tensor(c.dtype(0));
  loss.shape = c.input(1).shape;
  c.set_output(0, loss);
}

/// The loss of log-probabilities: -log_prob[n, label, ...] * weight[label], reduced.
inline void store_class_loss(EvalContext& c, const std::vector<double>& log_prob) {
  const auto a = c.attributes_as<ClassLossAttributes>();
  const Dims &x = c.input(0).dims(), &labels_dims = c.input(1).dims();
  Dims expected = x;
  if (x.size() >= 2) expected.erase(expected.begin() + 1);
  c.check(x.size() >= 2 && labels_dims == expected, "expected scores [N,C,...] and labels [N,...], found " +
                                                        dims_text(x) + " and " + dims_text(labels_dims));
  const int64_t classes = x[1], inner = dims_product(x, 2, x.size());
  const std::vector<int64_t> labels = c.input(1).to_int64s();
  const std::vector<double> weights =
      c.has_input(2) ? c.input(2).to_doubles() : std::vector<double>(static_cast<size_t>(classes), 1);
  c.check(static_cast<int64_t>(weights.size()) == classes, "weight: expected [" + std::to_string(classes) +
                                                               "], found " + std::to_string(weights.size()) +
                                                               " elements");
  std::vector<double> loss(labels.size());
  double sum = 0, total_weight = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (a.ignore_index && labels[i] == *a.ignore_index) continue;
    c.check(labels[i] >= 0 && labels[i] < classes, "labels: expected values in [0, " +
                                                       std::to_string(classes) + "), found " +
                                                       std::to_string(labels[i]));
    const int64_t n = static_cast<int64_t>(i) / inner, p = static_cast<int64_t>(i) % inner;
    const double w = weights[static_cast<size_t>(labels[i])];
    loss[i] = -log_prob[static_cast<size_t>((n * classes + labels[i]) * inner + p)] * w;
    sum += loss[i];
    total_weight += w;
  }
  if (a.reduction == "none") return store_doubles(loss, c.output(0, c.input(0).dtype(), labels_dims));
  // Ignored elements count for nothing in the mean, with or without weights.
  const double result[] = {a.reduction == "mean" ? sum / total_weight : sum};
  store_doubles(result, c.output(0, c.input(0).dtype(), {}));
}

}  // namespace wootz
