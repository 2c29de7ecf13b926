// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble: y[n,t] = transform(aggregate over the trees' leaves of their weights for target t).
#include "ops/doubles.h"
#include "ops/ml/trees.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_tree_ensemble {
namespace {

void infer(InferContext& c) {
  c.check_rank(0, 2);
  c.set_output(0, c.dtype(0), {row_count(c), Dim(c.attributes().get<int64_t>("n_targets", 1))});
}

/// Members of the k-th BRANCH_MEMBER node: the list is cut at NaNs.
std::vector<std::set<double>> member_sets(const Attributes& a) {
  std::vector<std::set<double>> sets(1);
  if (a.contains("membership_values"))
    for (double x : a.require<Tensor>("membership_values").to_doubles()) {
      if (std::isnan(x))
        sets.emplace_back();
      else
        sets.back().insert(x);
    }
  return sets;
}

Forest forest_of(const EvalContext& c) {
  const Attributes& a = c.attributes();
  const std::vector<int64_t> modes = a.require<Tensor>("nodes_modes").to_int64s();
  const std::vector<double> splits = a.require<Tensor>("nodes_splits").to_doubles(),
                            weights = a.require<Tensor>("leaf_weights").to_doubles();
  const Ints &feature = a.require<Ints>("nodes_featureids"), &yes = a.require<Ints>("nodes_truenodeids"),
             &no = a.require<Ints>("nodes_falsenodeids"), &yes_leaf = a.require<Ints>("nodes_trueleafs"),
             &no_leaf = a.require<Ints>("nodes_falseleafs"), &targets = a.require<Ints>("leaf_targetids");
  const Ints missing = a.get<Ints>("nodes_missing_value_tracks_true", {});
  const size_t count = modes.size();
  c.check(splits.size() == count && feature.size() == count && yes.size() == count && no.size() == count &&
              yes_leaf.size() == count && no_leaf.size() == count &&
              (missing.empty() || missing.size() == count) && targets.size() == weights.size(),
          "expected nodes_* lists of one length and leaf_* lists of one length");
  const std::vector<std::set<double>> members = member_sets(a);
  size_t member = 0;
  Forest forest;
  const auto child = [&](int64_t index, bool is_leaf) {
    const size_t limit = is_leaf ? weights.size() : count;
    c.check(index >= 0 && static_cast<size_t>(index) < limit,
            "expected a " + std::string(is_leaf ? "leaf" : "node") + " below " + std::to_string(limit) +
                ", found " + std::to_string(index));
    return static_cast<size_t>(index) + (is_leaf ? count : 0);
  };
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    c.check(modes[i] >= 0 && modes[i] <= 6,
            "nodes_modes: expected 0 to 6, found " + std::to_string(modes[i]));
    node.mode = static_cast<TreeMode>(modes[i]);
    node.feature = feature[i];
    node.value = splits[i];
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    if (node.mode == TreeMode::kMember) {
      c.check(member < members.size(), "membership_values: expected a set for each BRANCH_MEMBER node");
      node.members = members[member++];
    }
    node.if_true = child(yes[i], yes_leaf[i] != 0);
    node.if_false = child(no[i], no_leaf[i] != 0);
    forest.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    TreeNode leaf;
    leaf.votes = {{targets[i], weights[i]}};
    forest.nodes.push_back(std::move(leaf));
  }
  for (int64_t root : a.require<Ints>("tree_roots")) forest.roots.push_back(child(root, false));
  return forest;
}

void evaluate(EvalContext& c) {
  const Attributes& a = c.attributes();
  const int64_t kind = a.get<int64_t>("aggregate_function", 1),
                transform = a.get<int64_t>("post_transform", 0), targets = a.get<int64_t>("n_targets", 1);
  c.check(kind >= 0 && kind <= 3, "aggregate_function: expected 0 to 3, found " + std::to_string(kind));
  c.check(transform >= 0 && transform <= 4,
          "post_transform: expected 0 to 4, found " + std::to_string(transform));
  c.check(targets > 0, "n_targets: expected a positive number, found " + std::to_string(targets));
  const Forest forest = forest_of(c);
  const FeatureRows x = feature_rows(c);
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    Scores row;
    for (const Aggregate& votes :
         tally(c, forest, x, i, static_cast<Aggregate::Kind>(kind), static_cast<size_t>(targets)))
      row.push_back(votes.result(forest.roots.size()));
    apply(static_cast<PostTransform>(transform), row);
    all.insert(all.end(), row.begin(), row.end());
  }
  store_doubles(all, c.output(0, c.input(0).dtype(), {x.rows, targets}));
}

std::vector<Sample> samples() {
  const auto trees = [](DType dtype, int64_t aggregate, int64_t transform) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return sample_attributes({{"tree_roots", Ints{0, 2}},
                              {"nodes_modes", sample_tensor(DType::kUint8, {3}, {0, 6, 3})},
                              {"nodes_splits", sample_tensor(dtype, {3}, {0.25, 0, -0.5})},
                              {"membership_values", sample_tensor(dtype, {3}, {1, 2, nan})},
                              {"nodes_featureids", Ints{0, 1, 1}},
                              {"nodes_truenodeids", Ints{1, 0, 3}},
                              {"nodes_trueleafs", Ints{0, 1, 1}},
                              {"nodes_falsenodeids", Ints{1, 2, 3}},
                              {"nodes_falseleafs", Ints{1, 1, 1}},
                              {"leaf_targetids", Ints{0, 1, 0, 1}},
                              {"leaf_weights", sample_tensor(dtype, {4}, {1, -2, 0.5, 3})},
                              {"n_targets", int_attribute(2)},
                              {"aggregate_function", int_attribute(aggregate)},
                              {"post_transform", int_attribute(transform)}});
  };
  const auto x = [](DType dtype) { return Datum(sample_tensor(dtype, {3, 2}, {0, 1, 0.5, 2, -1, 7})); };
  std::vector<Sample> s;
  s.push_back({"sum", {x(DType::kFloat32)}, trees(DType::kFloat32, 1, 0)});
  s.push_back({"average, softmax", {x(DType::kFloat64)}, trees(DType::kFloat64, 0, 1)});
  s.push_back({"max", {x(DType::kFloat16)}, trees(DType::kFloat16, 3, 0)});
  s.push_back({"no row", {Datum(sample_floats({0, 2}))}, trees(DType::kFloat32, 2, 2)});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = "TreeEnsemble";
  d.doc = "The aggregated weights of the leaves that each row reaches in all trees, per target.";
  d.since = 5;
  d.min_inputs = d.max_inputs = 1;
  for (const char* name :
       {"leaf_targetids", "leaf_weights", "membership_values", "nodes_falseleafs", "nodes_falsenodeids",
        "nodes_featureids", "nodes_hitrates", "nodes_missing_value_tracks_true", "nodes_modes",
        "nodes_splits", "nodes_trueleafs", "nodes_truenodeids", "tree_roots"})
    d.attributes.push_back({name, std::nullopt});
  for (const char* name : {"aggregate_function", "n_targets"})
    d.attributes.push_back({name, Attribute(int64_t{1})});
  d.attributes.push_back({"post_transform", Attribute(int64_t{0})});
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_tree_ensemble
