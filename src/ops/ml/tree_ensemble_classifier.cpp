// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleClassifier: each leaf votes for classes; y is the label of the largest sum, z the transformed
// sums. Where one class alone gets votes and there are two, its sum s stands for both: [1 - s, s] when no
// weight is negative (label 1 above 0.5), else [-s, s] (label 1 above 0).
#include "ops/doubles.h"
#include "ops/ml/trees.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_tree_ensemble_classifier {
namespace {

ClassLabels labels_of(const Attributes& a) {
  return {a.get<Ints>("classlabels_int64s", {}), a.get<Strings>("classlabels_strings", {})};
}

struct Voting {
  ClassLabels labels;
  std::vector<double> base;
  PostTransform transform;
  bool one_class_votes = false, all_positive = true;

  explicit Voting(const EvalContext& c)
      : labels(labels_of(c.attributes())),
        base(floats_or_tensor(c.attributes(), "base_values")),
        transform(post_transform_from(c.attributes().get<std::string>("post_transform", "NONE"))) {
    labels.check(c);
    const Ints ids = c.attributes().get<Ints>("class_ids", {});
    one_class_votes = std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
    for (double w : floats_or_tensor(c.attributes(), "class_weights")) all_positive &= w >= 0;
    c.check(base.size() <= std::max<size_t>(labels.size(), 1),
            "base_values: expected at most one for each class");
  }
  bool is_binary() const { return labels.size() <= 2 && one_class_votes; }
  size_t columns() const {
    if (!is_binary()) return std::max<size_t>(labels.size(), 1);
    return labels.size() < 2 || transform == PostTransform::kProbit ? 1 : 2;
  }

  /// One row: the label's index and the scores.
  std::pair<size_t, Scores> decide(const std::vector<Aggregate>& votes) const {
    Scores row;
    double only = base.size() == 1 ? base[0] : base.size() == 2 ? base[1] : 0;
    for (const Aggregate& vote : votes) {
      row.push_back(vote.result(1));
      only += vote.result(1);
    }
    if (is_binary()) {
      const size_t which = only > (labels.size() == 2 && all_positive ? 0.5 : 0) ? 1 : 0;
      if (columns() == 2) return {which, both_classes(only, all_positive, transform)};
      Scores one{only};
      apply(transform, one);
      return {which, one};
    }
    for (size_t k = 0; k < base.size(); ++k) row[k] += base[k];
    const size_t which = arg_max(row);
    apply(transform, row);
    return {which, row};
  }
};

void infer(InferContext& c) {
  const Attributes& a = c.attributes();
  const ClassLabels labels = labels_of(a);
  labels.check(c);
  const Dim rows = row_count(c);
  c.set_output(0, labels.dtype(), {rows});
  const Ints ids = a.get<Ints>("class_ids", {});
  const bool one = std::set<int64_t>(ids.begin(), ids.end()).size() == 1 && labels.size() <= 2 &&
                   (labels.size() < 2 || a.get<std::string>("post_transform", "NONE") == "PROBIT");
  c.set_output(1, DType::kFloat32,
               {rows, Dim(one ? 1 : std::max<int64_t>(static_cast<int64_t>(labels.size()), 1))});
}

void evaluate(EvalContext& c) {
  const Forest forest = forest_by_ids(c, "class");
  const Voting voting(c);
  const FeatureRows x = feature_rows(c);
  Tensor& label = c.output(0, voting.labels.dtype(), {x.rows});
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    const auto [which, row] = voting.decide(
        tally(c, forest, x, i, Aggregate::Kind::kSum, std::max<size_t>(voting.labels.size(), 1)));
    // A single label names the positive class; the other one is 0.
    if (voting.labels.size() == 1 && voting.labels.strings.empty())
      label.as<int64_t>()[i] = which ? voting.labels.ints[0] : 0;
    else
      voting.labels.write(label, i, which);
    all.insert(all.end(), row.begin(), row.end());
  }
  if (c.wants_output(1))
    store_doubles(all, c.output(1, DType::kFloat32, {x.rows, static_cast<int64_t>(voting.columns())}));
}

std::vector<Sample> samples() {
  const auto stump = [](Ints ids, Floats weights, const char* transform, const char* labels, int64_t count) {
    Attributes a = sample_attributes({{"nodes_treeids", Ints{0, 0, 0}},
                                      {"nodes_nodeids", Ints{0, 1, 2}},
                                      {"nodes_featureids", Ints{1, 0, 0}},
                                      {"nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "LEAF"}},
                                      {"nodes_values", Floats{0, 0, 0}},
                                      {"nodes_truenodeids", Ints{1, 0, 0}},
                                      {"nodes_falsenodeids", Ints{2, 0, 0}},
                                      {"class_treeids", Ints{0, 0}},
                                      {"class_nodeids", Ints{1, 2}},
                                      {"class_ids", std::move(ids)},
                                      {"class_weights", std::move(weights)},
                                      {"post_transform", string_attribute(transform)}});
    Ints numbers;
    Strings names;
    for (int64_t i = 0; i < count; ++i) {
      numbers.push_back(10 + i);
      names.push_back(std::string("class ") + static_cast<char>('a' + i));
    }
    if (std::string(labels) == "strings")
      a.set("classlabels_strings", std::move(names));
    else
      a.set("classlabels_int64s", std::move(numbers));
    return a;
  };
  const Datum x(sample_floats({4, 2}));
  std::vector<Sample> s;
  s.push_back({"three classes", {x}, stump({0, 2}, {1, 2}, "SOFTMAX", "ints", 3), 2});
  s.push_back({"strings", {x}, stump({1, 0}, {0.75f, 0.5f}, "NONE", "strings", 2), 2});
  s.push_back({"one vote for two", {x}, stump({0, 0}, {0.75f, 0.25f}, "NONE", "ints", 2), 2});
  s.push_back({"one signed vote for two", {x}, stump({0, 0}, {0.75f, -0.25f}, "LOGISTIC", "ints", 2), 2});
  s.push_back({"no row", {Datum(sample_floats({0, 2}))}, stump({0, 1}, {1, 2}, "NONE", "ints", 2), 2});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = "TreeEnsembleClassifier";
  d.doc = "The label and the scores of the classes that the leaves of all trees vote for.";
  d.min_inputs = d.max_inputs = 1;
  d.max_outputs = 2;
  d.attributes = tree_attributes("class");
  d.attributes.push_back({"classlabels_int64s", Attribute(Ints{})});
  d.attributes.push_back({"classlabels_strings", Attribute(Strings{})});
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_tree_ensemble_classifier
