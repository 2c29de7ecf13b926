// SPDX-License-Identifier: Apache-2.0
// LinearRegressor: y = transform(x A^T + b). LinearClassifier: the same scores, and the label of the largest;
// one score s for two labels stands for [1 - s, s] (transformed: [f(-s), f(s)]) and is positive above 0.
#include "ops/doubles.h"
#include "ops/ml/scores.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_linear_model {
namespace {

/// Rows of x times the coefficients [targets, F], plus the intercepts.
class Linear {
 public:
  Linear(const EvalContext& c, int64_t features, std::optional<int64_t> targets)
      : features_(features),
        coefficients_(c.attributes().get<Floats>("coefficients", {})),
        intercepts_(c.attributes().get<Floats>("intercepts", {})) {
    const auto count = static_cast<int64_t>(coefficients_.size());
    targets_ = targets                               ? *targets
               : intercepts_.empty() && features > 0 ? count / features
                                                     : static_cast<int64_t>(intercepts_.size());
    c.check(targets_ > 0 && count == targets_ * features &&
                (intercepts_.empty() || static_cast<int64_t>(intercepts_.size()) == targets_),
            "coefficients: expected " + std::to_string(features) +
                " for each target and no or one intercept, found " + std::to_string(count) + " and " +
                std::to_string(intercepts_.size()));
  }
  int64_t targets() const { return targets_; }
  Scores row(const double* x) const {
    Scores y;
    for (int64_t t = 0; t < targets_; ++t) {
      double sum = intercepts_.empty() ? 0 : static_cast<double>(intercepts_[static_cast<size_t>(t)]);
      for (int64_t f = 0; f < features_; ++f)
        sum += x[f] * static_cast<double>(coefficients_[static_cast<size_t>(t * features_ + f)]);
      y.push_back(sum);
    }
    return y;
  }

 private:
  int64_t features_, targets_ = 0;
  Floats coefficients_, intercepts_;
};

void infer_regressor(InferContext& c) {
  c.set_output(0, DType::kFloat32, {row_count(c), Dim(c.attributes().get<int64_t>("targets", 1))});
}

void evaluate_regressor(EvalContext& c) {
  const FeatureRows x = feature_rows(c);
  const Linear linear(c, x.features, c.attributes().get<int64_t>("targets", 1));
  const PostTransform transform =
      post_transform_from(c.attributes().get<std::string>("post_transform", "NONE"));
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    Scores row = linear.row(x.row(i));
    apply(transform, row);
    all.insert(all.end(), row.begin(), row.end());
  }
  store_doubles(all, c.output(0, DType::kFloat32, {x.rows, linear.targets()}));
}

ClassLabels labels_of(const Attributes& a) {
  return {a.get<Ints>("classlabels_ints", {}), a.get<Strings>("classlabels_strings", {})};
}

void infer_classifier(InferContext& c) {
  const ClassLabels labels = labels_of(c.attributes());
  labels.check(c);
  const Dim rows = row_count(c);
  const auto coefficients = static_cast<int64_t>(c.attributes().require<Floats>("coefficients").size());
  const auto intercepts = static_cast<int64_t>(c.attributes().get<Floats>("intercepts", {}).size());
  c.set_output(0, labels.dtype(), {rows});
  int64_t targets = intercepts;
  if (targets == 0 && c.has_rank(0) && c.shape(0).back().is_constant() && c.shape(0).back().value() > 0)
    targets = coefficients / c.shape(0).back().value();
  const bool probit = c.attributes().get<std::string>("post_transform", "NONE") == "PROBIT";
  Dim columns = targets == 0 ? c.unknown("classes") : Dim(targets);
  if (targets == 1 && labels.size() == 2 && !probit) columns = Dim(2);
  c.set_output(1, DType::kFloat32, {rows, columns});
}

void evaluate_classifier(EvalContext& c) {
  const FeatureRows x = feature_rows(c);
  const Linear linear(c, x.features, std::nullopt);
  const ClassLabels labels = labels_of(c.attributes());
  labels.check(c);
  const PostTransform transform =
      post_transform_from(c.attributes().get<std::string>("post_transform", "NONE"));
  const bool single = linear.targets() == 1, both = single && labels.size() == 2;
  Tensor& label = c.output(0, labels.dtype(), {x.rows});
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    Scores row = linear.row(x.row(i));
    const bool positive = row[0] > 0;
    if (!single)
      labels.write(label, i, arg_max(row));
    else if (labels.size() == 1)  // names the positive class
      positive ? labels.write(label, i, 0)
               : ClassLabels{{0}, labels.strings.empty() ? Strings{} : Strings{""}}.write(label, i, 0);
    else
      labels.write(label, i, positive ? 1 : 0);
    if (both)
      row = both_classes(row[0], transform == PostTransform::kNone, transform);
    else
      apply(transform, row);
    all.insert(all.end(), row.begin(), row.end());
  }
  const int64_t columns = both && transform != PostTransform::kProbit ? 2 : linear.targets();
  if (c.wants_output(1)) store_doubles(all, c.output(1, DType::kFloat32, {x.rows, columns}));
}

Attributes sample_model(int targets, const char* transform) {
  Floats coefficients, intercepts;
  for (int i = 0; i < 3 * targets; ++i) coefficients.push_back(0.25f * static_cast<float>(i % 5) - 0.5f);
  for (int i = 0; i < targets; ++i) intercepts.push_back(0.1f * static_cast<float>(i));
  return sample_attributes({{"coefficients", coefficients},
                            {"intercepts", intercepts},
                            {"post_transform", string_attribute(transform)}});
}

std::vector<Sample> samples_regressor() {
  const auto model = [](int targets, const char* transform) {
    Attributes a = sample_model(targets, transform);
    a.set("targets", int64_t{targets});
    return a;
  };
  std::vector<Sample> s;
  s.push_back({"one target", {Datum(sample_floats({4, 3}))}, model(1, "NONE")});
  s.push_back({"logistic", {Datum(sample_floats({2, 3}))}, model(2, "LOGISTIC")});
  s.push_back(
      {"softmax of integers", {Datum(sample_values(DType::kInt64, {2, 3}, -3, 3))}, model(3, "SOFTMAX")});
  s.push_back({"no row", {Datum(sample_floats({0, 3}))}, model(1, "NONE")});
  return s;
}

std::vector<Sample> samples_classifier() {
  const auto model = [](int targets, const char* transform, const char* label, Attribute labels) {
    Attributes a = sample_model(targets, transform);
    a.set(label, std::move(labels));
    return a;
  };
  const Datum x(sample_floats({4, 3}));
  std::vector<Sample> s;
  s.push_back({"three classes", {x}, model(3, "SOFTMAX", "classlabels_ints", Ints{5, 6, 7}), 2});
  s.push_back({"strings", {x}, model(2, "NONE", "classlabels_strings", Strings{"a", "b"}), 2});
  s.push_back({"one score for two", {x}, model(1, "NONE", "classlabels_ints", Ints{0, 1}), 2});
  s.push_back({"one score for two, logistic", {x}, model(1, "LOGISTIC", "classlabels_ints", Ints{0, 1}), 2});
  s.push_back(
      {"no row", {Datum(sample_floats({0, 3}))}, model(2, "NONE", "classlabels_ints", Ints{0, 1}), 2});
  return s;
}

OpDef model_def(const char* name, const char* doc) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = {{"coefficients", std::nullopt},
                  {"intercepts", Attribute(Floats{})},
                  {"post_transform", Attribute(std::string("NONE"))}};
  return d;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d = model_def("LinearRegressor", "y = transform(x A^T + b), a row of coefficients for each target.");
  d.attributes.push_back({"targets", Attribute(int64_t{1})});
  d.infer = infer_regressor;
  d.evaluate = evaluate_regressor;
  d.samples = samples_regressor;
  registry.add(std::move(d));
  d = model_def("LinearClassifier", "The scores transform(x A^T + b) and the label of the largest one.");
  d.max_outputs = 2;
  d.attributes.push_back({"classlabels_ints", Attribute(Ints{})});
  d.attributes.push_back({"classlabels_strings", Attribute(Strings{})});
  d.attributes.push_back({"multi_class", Attribute(int64_t{0})});
  d.infer = infer_classifier;
  d.evaluate = evaluate_classifier;
  d.samples = samples_classifier;
  registry.add(std::move(d));
}

}  // namespace wootz::op_linear_model
