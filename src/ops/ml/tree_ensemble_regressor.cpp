// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleRegressor: y[n,t] = transform(aggregate over the trees' leaves of their weights for target t +
// base_values[t]).
#include "ops/doubles.h"
#include "ops/ml/trees.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_tree_ensemble_regressor {
namespace {

void infer(InferContext& c) {
  c.set_output(0, DType::kFloat32, {row_count(c), Dim(c.attributes().get<int64_t>("n_targets", 1))});
}

void evaluate(EvalContext& c) {
  const Attributes& a = c.attributes();
  const Forest forest = forest_by_ids(c, "target");
  const FeatureRows x = feature_rows(c);
  const int64_t targets = a.get<int64_t>("n_targets", 1);
  c.check(targets > 0, "n_targets: expected a positive number, found " + std::to_string(targets));
  const auto kind = Aggregate::kind_from(a.get<std::string>("aggregate_function", "SUM"));
  const PostTransform transform = post_transform_from(a.get<std::string>("post_transform", "NONE"));
  const std::vector<double> base = floats_or_tensor(a, "base_values");
  c.check(base.empty() || static_cast<int64_t>(base.size()) == targets,
          "base_values: expected one for each target");
  Scores all;
  for (int64_t i = 0; i < x.rows; ++i) {
    const auto votes = tally(c, forest, x, i, kind, static_cast<size_t>(targets));
    Scores row;
    for (size_t t = 0; t < votes.size(); ++t)
      row.push_back(votes[t].result(forest.roots.size()) + (base.empty() ? 0 : base[t]));
    apply(transform, row);
    all.insert(all.end(), row.begin(), row.end());
  }
  store_doubles(all, c.output(0, DType::kFloat32, {x.rows, targets}));
}

std::vector<Sample> samples() {
  // Two stumps on features 0 and 1.
  const auto stumps = [](const char* aggregate, const char* mode, int64_t targets) {
    return sample_attributes({{"nodes_treeids", Ints{0, 0, 0, 1, 1, 1}},
                              {"nodes_nodeids", Ints{0, 1, 2, 0, 1, 2}},
                              {"nodes_featureids", Ints{0, 0, 0, 1, 0, 0}},
                              {"nodes_modes", Strings{mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"}},
                              {"nodes_values", Floats{0.1f, 0, 0, -0.2f, 0, 0}},
                              {"nodes_truenodeids", Ints{1, 0, 0, 1, 0, 0}},
                              {"nodes_falsenodeids", Ints{2, 0, 0, 2, 0, 0}},
                              {"target_treeids", Ints{0, 0, 1, 1}},
                              {"target_nodeids", Ints{1, 2, 1, 2}},
                              {"target_ids", Ints{0, targets - 1, 0, 0}},
                              {"target_weights", Floats{1.5f, -2, 0.25f, 4}},
                              {"n_targets", int_attribute(targets)},
                              {"aggregate_function", string_attribute(aggregate)}});
  };
  const Datum x(sample_floats({4, 2}));
  std::vector<Sample> s;
  s.push_back({"sum", {x}, stumps("SUM", "BRANCH_LEQ", 1)});
  s.push_back({"average", {x}, stumps("AVERAGE", "BRANCH_LT", 2)});
  s.push_back({"min", {x}, stumps("MIN", "BRANCH_GTE", 1)});
  s.push_back({"max", {x}, stumps("MAX", "BRANCH_GT", 1)});
  s.push_back(
      {"float64", {Datum(sample_floats({2, 2}, 3, DType::kFloat64))}, stumps("SUM", "BRANCH_NEQ", 1)});
  s.push_back({"no row", {Datum(sample_floats({0, 2}))}, stumps("SUM", "BRANCH_EQ", 1)});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = "TreeEnsembleRegressor";
  d.doc = "The aggregated weights of the leaves that each row reaches in all trees, per target.";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = tree_attributes("target");
  d.attributes.push_back({"n_targets", Attribute(int64_t{1})});
  d.attributes.push_back({"aggregate_function", Attribute(std::string("SUM"))});
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_tree_ensemble_regressor
