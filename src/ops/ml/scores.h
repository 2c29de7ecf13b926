// SPDX-License-Identifier: Apache-2.0
// What the classifiers and regressors of ai.onnx.ml share: transforms of score rows, and class labels.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

using Scores = std::vector<double>;

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

inline PostTransform post_transform_from(const std::string& name) {
  static const char* const kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  throw Error(ErrorKind::kInvalidModel,
              "post_transform: expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, found " + name);
}

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The inverse of the normal distribution function: bisection on erfc, which is exact to the last bits.
inline double probit(double p) {
  if (!(p > 0 && p < 1)) {
    if (p == 0) return -std::numeric_limits<double>::infinity();
    return p == 1 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Softmax of a row. `keep_zeros`: elements that are zero stay so (SOFTMAX_ZERO).
inline void softmax_row(Scores& row, bool keep_zeros) {
  const auto is_zero = [&](double x) { return keep_zeros && std::fabs(x) <= 1e-7; };
  const double largest = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) {
    x = is_zero(x) ? 0 : std::exp(x - largest);
    sum += x;
  }
  if (sum != 0)
    for (double& x : row) x /= sum;
}

inline void apply(PostTransform transform, Scores& row) {
  switch (transform) {
    case PostTransform::kNone: return;
    case PostTransform::kSoftmax: return softmax_row(row, false);
    case PostTransform::kSoftmaxZero: return softmax_row(row, true);
    case PostTransform::kLogistic:
      for (double& x : row) x = logistic(x);
      return;
    case PostTransform::kProbit:
      for (double& x : row) x = probit(x);
      return;
  }
}

/// One score that stands for two classes: [1 - s, s] where scores are probabilities, [-s, s] where they are
/// distances.
inline Scores both_classes(double score, bool is_probability, PostTransform transform) {
  if (transform == PostTransform::kProbit) return {probit(score)};
  if (is_probability) return {1 - score, score};
  Scores row{-score, score};
  apply(transform, row);
  return row;
}

inline size_t arg_max(const Scores& row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// The labels of a classifier: integers or strings.
struct ClassLabels {
  Ints ints;
  Strings strings;

  template <class Context>
  void check(const Context& c) const {
    c.check(ints.empty() || strings.empty(), "expected one kind of class labels, found both");
  }
  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
  DType dtype() const { return strings.empty() ? DType::kInt64 : DType::kString; }
  /// Writes label `which` (the number itself where there are no labels) to element i.
  void write(Tensor& to, int64_t i, size_t which) const {
    if (!strings.empty())
      to.as<std::string>()[i] = which < strings.size() ? strings[which] : std::string();
    else
      to.as<int64_t>()[i] = which < ints.size() ? ints[which] : static_cast<int64_t>(which);
  }
};

/// Rows of features: [N, F], or [F] as one row.
struct FeatureRows {
  std::vector<double> values;
  int64_t rows = 0, features = 0;
  const double* row(int64_t i) const { return values.data() + i * features; }
};

inline FeatureRows feature_rows(const EvalContext& c) {
  const Tensor& x = c.input(0);
  c.check(x.rank() == 1 || x.rank() == 2,
          "expected features [N, F] or [F], found rank " + std::to_string(x.rank()));
  return {x.to_doubles(), x.rank() == 2 ? x.dims()[0] : 1, x.dims().back()};
}

/// N of the features, for inference.
inline Dim row_count(InferContext& c) {
  if (!c.has_rank(0)) return c.unknown("rows");
  c.check(c.rank(0) == 1 || c.rank(0) == 2,
          "expected features [N, F] or [F], found rank " + std::to_string(c.rank(0)));
  return c.rank(0) == 2 ? c.shape(0)[0] : Dim(1);
}

}  // namespace wootz
