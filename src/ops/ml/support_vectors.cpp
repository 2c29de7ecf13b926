// SPDX-License-Identifier: Apache-2.0
// SVMRegressor: y = sum_j c_j K(x, v_j) + rho. SVMClassifier: such a sum for each pair of classes votes for
// one of the two; with prob_a and prob_b the pairs' sigmoids are coupled to probabilities (Wu, Lin and Weng
// 2004, method 2, as in libsvm). Without vectors per class: one linear score a class.
#include "ops/doubles.h"
#include "ops/ml/scores.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_support_vectors {
namespace {

class Kernel {
 public:
  explicit Kernel(const EvalContext& c) : name_(c.attributes().get<std::string>("kernel_type", "LINEAR")) {
    c.check(name_ == "LINEAR" || name_ == "POLY" || name_ == "RBF" || name_ == "SIGMOID",
            "kernel_type: expected LINEAR, POLY, RBF or SIGMOID, found " + name_);
    const Floats p = c.attributes().get<Floats>("kernel_params", {});
    c.check(p.empty() || p.size() == 3, "kernel_params: expected gamma, coef0 and degree, found " +
                                            std::to_string(p.size()) + " numbers");
    if (!p.empty()) gamma_ = p[0], coef_ = p[1], degree_ = p[2];
  }
  double operator()(const double* x, const float* v, int64_t n) const {
    double dot = 0, distance = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto w = static_cast<double>(v[i]);
      dot += x[i] * w;
      distance += (x[i] - w) * (x[i] - w);
    }
    if (name_ == "POLY") return std::pow(gamma_ * dot + coef_, degree_);
    if (name_ == "SIGMOID") return std::tanh(gamma_ * dot + coef_);
    if (name_ == "RBF") return std::exp(-gamma_ * distance);
    return dot;
  }

 private:
  std::string name_;
  double gamma_ = 0, coef_ = 0, degree_ = 0;
};

void infer_regressor(InferContext& c) { c.set_output(0, DType::kFloat32, {row_count(c), Dim(1)}); }

void evaluate_regressor(EvalContext& c) {
  const Attributes& a = c.attributes();
  const FeatureRows x = feature_rows(c);
  const Floats coefficients = a.get<Floats>("coefficients", {}),
               vectors = a.get<Floats>("support_vectors", {}), rho = a.get<Floats>("rho", {});
  const int64_t supports = a.get<int64_t>("n_supports", 0);
  const PostTransform transform = post_transform_from(a.get<std::string>("post_transform", "NONE"));
  const Kernel kernel(c);
  c.check(!rho.empty(), "rho: expected a number, found none");
  if (supports > 0)
    c.check(static_cast<int64_t>(coefficients.size()) == supports &&
                static_cast<int64_t>(vectors.size()) == supports * x.features,
            "expected a coefficient and " + std::to_string(x.features) + " numbers for each support vector");
  else
    c.check(static_cast<int64_t>(coefficients.size()) == x.features,
            "coefficients: expected one for each feature");
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    double sum = static_cast<double>(rho[0]);
    for (int64_t j = 0; j < supports; ++j)
      sum += static_cast<double>(coefficients[static_cast<size_t>(j)]) *
             kernel(x.row(i), vectors.data() + j * x.features, x.features);
    if (supports <= 0) sum += kernel(x.row(i), coefficients.data(), x.features);
    Scores row{a.get<int64_t>("one_class", 0) ? (sum > 0 ? 1.0 : -1.0) : sum};
    apply(transform, row);
    all.push_back(row[0]);
  }
  store_doubles(all, c.output(0, DType::kFloat32, {x.rows, 1}));
}

/// Probabilities of k classes from those of each pair, r[i * k + j] = P(i | i or j).
Scores coupled(const Scores& r, size_t k) {
  Scores q(k * k), p(k, 1.0 / static_cast<double>(k)), qp(k);
  for (size_t t = 0; t < k; ++t)
    for (size_t j = 0; j < k; ++j)
      if (j != t) {
        q[t * k + t] += r[j * k + t] * r[j * k + t];
        q[t * k + j] = -r[j * k + t] * r[t * k + j];
      }
  const double tolerance = 0.005 / static_cast<double>(k);
  for (size_t round = 0; round < std::max<size_t>(100, k); ++round) {
    double pqp = 0, worst = 0;
    for (size_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < k; ++t) worst = std::max(worst, std::fabs(qp[t] - pqp));
    if (worst < tolerance) break;
    for (size_t t = 0; t < k; ++t) {
      const double step = (pqp - qp[t]) / q[t * k + t];
      p[t] += step;
      pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / ((1 + step) * (1 + step));
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
  return p;
}

ClassLabels labels_of(const Attributes& a) {
  return {a.get<Ints>("classlabels_ints", {}), a.get<Strings>("classlabels_strings", {})};
}

class Classifier {
 public:
  Classifier(const EvalContext& c, int64_t features)
      : labels(labels_of(c.attributes())),
        kernel_(c),
        transform_(post_transform_from(c.attributes().get<std::string>("post_transform", "NONE"))),
        features_(features),
        coefficients_(c.attributes().get<Floats>("coefficients", {})),
        vectors_(c.attributes().get<Floats>("support_vectors", {})),
        rho_(c.attributes().get<Floats>("rho", {})),
        a_(c.attributes().get<Floats>("prob_a", {})),
        b_(c.attributes().get<Floats>("prob_b", {})),
        per_class_(c.attributes().get<Ints>("vectors_per_class", {})) {
    labels.check(c);
    for (int64_t n : per_class_) {
      c.check(n >= 0, "vectors_per_class: expected counts, found " + std::to_string(n));
      first_.push_back(count_);
      count_ += static_cast<size_t>(n);
    }
    k_ = std::max<size_t>(labels.size(), 1);
    all_positive_ = std::all_of(coefficients_.begin(), coefficients_.end(), [](float w) { return w >= 0; });
    const auto f = static_cast<size_t>(features);
    const size_t pairs = k_ * (k_ - 1) / 2;
    if (count_ > 0) {
      c.check(per_class_.size() == k_ && k_ >= 2, "vectors_per_class: expected a count for each class");
      c.check(
          vectors_.size() == count_ * f && coefficients_.size() == (k_ - 1) * count_ && rho_.size() == pairs,
          "expected " + std::to_string(count_) +
              " support vectors, (classes - 1) coefficients for each, and " + std::to_string(pairs) + " rho");
      c.check(a_.size() == b_.size() && (a_.empty() || a_.size() == pairs),
              "prob_a and prob_b: expected one a pair");
    } else {
      c.check(coefficients_.size() == k_ * f && !rho_.empty(),
              "expected coefficients for each class and feature, and rho");
    }
  }

  size_t columns() const {
    if (count_ == 0) return k_ == 1 && transform_ == PostTransform::kProbit ? 1 : k_;
    if (has_probabilities()) return k_;
    const size_t pairs = k_ * (k_ - 1) / 2;
    return k_ == 2 && transform_ != PostTransform::kProbit ? 2 : pairs;
  }

  /// Label index (-1: the negative class of a single label) and scores.
  std::pair<int64_t, Scores> decide(const double* x) const {
    Scores scores, votes;
    if (count_ == 0) {
      for (size_t k = 0; k < k_; ++k)
        scores.push_back(static_cast<double>(rho_[0]) +
                         linear(x, coefficients_.data() + k * static_cast<size_t>(features_)));
    } else {
      votes.resize(k_);
      scores = pair_scores(x, votes);
      if (has_probabilities()) scores = probabilities(scores);
    }
    const Scores& ballot = votes.empty() ? scores : votes;
    auto which = static_cast<int64_t>(arg_max(ballot));
    if (rho_.size() == 1 && k_ == 2 && !has_probabilities() && all_positive_ &&
        ballot[static_cast<size_t>(which)] >= 0.5)
      which = 1;
    if (k_ == 1) which = ballot[0] > 0 ? 0 : -1;
    if (scores.size() == 1 && k_ == 2) return {which, both_classes(scores[0], false, transform_)};
    apply(transform_, scores);
    return {which, scores};
  }

  ClassLabels labels;

 private:
  bool has_probabilities() const { return count_ > 0 && !a_.empty(); }
  double linear(const double* x, const float* w) const {
    double sum = 0;
    for (int64_t i = 0; i < features_; ++i) sum += x[i] * static_cast<double>(w[i]);
    return sum;
  }
  double part(size_t row, size_t of, const Scores& kernels) const {
    double sum = 0;
    for (size_t v = first_[of]; v < first_[of] + static_cast<size_t>(per_class_[of]); ++v)
      sum += static_cast<double>(coefficients_[row * count_ + v]) * kernels[v];
    return sum;
  }
  Scores pair_scores(const double* x, Scores& votes) const {
    Scores kernels, scores;
    for (size_t v = 0; v < count_; ++v)
      kernels.push_back(kernel_(x, vectors_.data() + v * static_cast<size_t>(features_), features_));
    for (size_t i = 0; i < k_; ++i)
      for (size_t j = i + 1; j < k_; ++j) {
        const double s =
            static_cast<double>(rho_[scores.size()]) + part(j - 1, i, kernels) + part(i, j, kernels);
        ++votes[s > 0 ? i : j];
        scores.push_back(s);
      }
    return scores;
  }
  Scores probabilities(const Scores& scores) const {
    Scores r(k_ * k_);
    size_t at = 0;
    for (size_t i = 0; i < k_; ++i)
      for (size_t j = i + 1; j < k_; ++j, ++at) {
        const double p = 1 - logistic(scores[at] * static_cast<double>(a_[at]) + static_cast<double>(b_[at]));
        r[i * k_ + j] = std::clamp(p, 1e-7, 1 - 1e-7);
        r[j * k_ + i] = 1 - r[i * k_ + j];
      }
    return coupled(r, k_);
  }

  Kernel kernel_;
  PostTransform transform_;
  int64_t features_;
  Floats coefficients_, vectors_, rho_, a_, b_;
  Ints per_class_;
  std::vector<size_t> first_;
  size_t count_ = 0, k_ = 1;
  bool all_positive_ = false;
};

void infer_classifier(InferContext& c) {
  const ClassLabels labels = labels_of(c.attributes());
  labels.check(c);
  const Dim rows = row_count(c);
  c.set_output(0, labels.dtype(), {rows});
  const auto k = std::max<int64_t>(static_cast<int64_t>(labels.size()), 1);
  const bool pairs = !c.attributes().get<Ints>("vectors_per_class", {}).empty() &&
                     c.attributes().get<Floats>("prob_a", {}).empty();
  const bool probit = c.attributes().get<std::string>("post_transform", "NONE") == "PROBIT";
  c.set_output(1, DType::kFloat32, {rows, Dim(!pairs || (k == 2 && !probit) ? k : k * (k - 1) / 2)});
}

void evaluate_classifier(EvalContext& c) {
  const FeatureRows x = feature_rows(c);
  const Classifier classifier(c, x.features);
  Tensor& label = c.output(0, classifier.labels.dtype(), {x.rows});
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    const auto [which, row] = classifier.decide(x.row(i));
    if (which >= 0) classifier.labels.write(label, i, static_cast<size_t>(which));
    all.insert(all.end(), row.begin(), row.end());
  }
  if (c.wants_output(1))
    store_doubles(all, c.output(1, DType::kFloat32, {x.rows, static_cast<int64_t>(classifier.columns())}));
}

Floats numbers(int count) {
  Floats list;
  for (int i = 0; i < count; ++i) list.push_back(0.25f * static_cast<float>((i * 5) % 7) - 0.6f);
  return list;
}

std::vector<Sample> samples_regressor() {
  const auto model = [](const char* kernel, int64_t supports, int64_t one_class) {
    Attributes a =
        sample_attributes({{"kernel_type", string_attribute(kernel)},
                           {"kernel_params", Floats{0.5f, 0.25f, 2}},
                           {"rho", Floats{0.1f}},
                           {"n_supports", int_attribute(supports)},
                           {"one_class", int_attribute(one_class)},
                           {"coefficients", numbers(supports > 0 ? static_cast<int>(supports) : 2)}});
    if (supports > 0) a.set("support_vectors", numbers(static_cast<int>(supports) * 2));
    return a;
  };
  const Datum x(sample_floats({3, 2}));
  std::vector<Sample> s;
  for (const char* kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"})
    s.push_back({kernel, {x}, model(kernel, 3, 0)});
  s.push_back({"no vectors", {x}, model("LINEAR", 0, 0)});
  s.push_back({"one class", {x}, model("RBF", 2, 1)});
  return s;
}

std::vector<Sample> samples_classifier() {
  const auto model = [](int k, bool probabilities, const char* transform) {
    const int pairs = k * (k - 1) / 2;
    Ints labels, per_class;
    for (int i = 0; i < k; ++i) labels.push_back(i + 3), per_class.push_back(2);
    Attributes a = sample_attributes({{"kernel_type", string_attribute("RBF")},
                                      {"kernel_params", Floats{0.5f, 0, 3}},
                                      {"classlabels_ints", labels},
                                      {"vectors_per_class", per_class},
                                      {"support_vectors", numbers(4 * k)},
                                      {"coefficients", numbers((k - 1) * 2 * k)},
                                      {"rho", numbers(pairs)},
                                      {"post_transform", string_attribute(transform)}});
    if (probabilities)
      a.set("prob_a", numbers(pairs)), a.set("prob_b", Floats(static_cast<size_t>(pairs), 0.1f));
    return a;
  };
  const Datum x(sample_floats({3, 2}));
  Attributes linear = sample_attributes({{"classlabels_strings", Strings{"a", "b", "c"}},
                                         {"coefficients", numbers(6)},
                                         {"rho", Floats{0.1f}},
                                         {"post_transform", string_attribute("SOFTMAX")}});
  std::vector<Sample> s;
  s.push_back({"two classes", {x}, model(2, false, "NONE"), 2});
  s.push_back({"three classes", {x}, model(3, false, "NONE"), 2});
  s.push_back({"probabilities", {x}, model(3, true, "NONE"), 2});
  s.push_back({"logistic", {x}, model(2, false, "LOGISTIC"), 2});
  s.push_back({"linear", {x}, std::move(linear), 2});
  return s;
}

OpDef vector_def(const char* name, const char* doc) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  for (const char* list : {"coefficients", "kernel_params", "rho", "support_vectors"})
    d.attributes.push_back({list, Attribute(Floats{})});
  d.attributes.push_back({"kernel_type", Attribute(std::string("LINEAR"))});
  d.attributes.push_back({"post_transform", Attribute(std::string("NONE"))});
  return d;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d = vector_def("SVMRegressor",
                       "y = sum_j c_j K(x, v_j) + rho, with a linear, polynomial, RBF or sigmoid kernel.");
  d.attributes.push_back({"n_supports", Attribute(int64_t{0})});
  d.attributes.push_back({"one_class", Attribute(int64_t{0})});
  d.infer = infer_regressor;
  d.evaluate = evaluate_regressor;
  d.samples = samples_regressor;
  registry.add(std::move(d));
  d = vector_def("SVMClassifier",
                 "The label that most pairs of classes vote for, and the pairs' or classes' scores.");
  d.max_outputs = 2;
  for (const char* list : {"prob_a", "prob_b"}) d.attributes.push_back({list, Attribute(Floats{})});
  for (const char* list : {"classlabels_ints", "vectors_per_class"})
    d.attributes.push_back({list, Attribute(Ints{})});
  d.attributes.push_back({"classlabels_strings", Attribute(Strings{})});
  d.infer = infer_classifier;
  d.evaluate = evaluate_classifier;
  d.samples = samples_classifier;
  registry.add(std::move(d));
}

}  // namespace wootz::op_support_vectors
