// SPDX-License-Identifier: Apache-2.0
// Decision trees, shared by TreeEnsemble and the two older operators.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/evaluate.h"
#include "ops/ml/scores.h"

namespace wootz {

enum class TreeMode { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

inline TreeMode tree_mode_from(const std::string& name) {
  static const char* const kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                       "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (int i = 0; i < 8; ++i)
    if (name == kNames[i]) return static_cast<TreeMode>(i);
  throw Error(ErrorKind::kInvalidModel,
              "nodes_modes: expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, "
              "BRANCH_EQ, BRANCH_NEQ or LEAF, found " +
                  name);
}

struct TreeNode {
  TreeMode mode = TreeMode::kLeaf;
  int64_t feature = 0;
  double value = 0;
  std::set<double> members;                       // kMember
  bool missing_is_true = false;                   // where NaN goes
  size_t if_true = 0, if_false = 0;               // nodes
  std::vector<std::pair<int64_t, double>> votes;  // leaf: target and weight
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<size_t> roots;

  static bool holds(const TreeNode& node, double x) {
    if (std::isnan(x) && node.missing_is_true) return true;
    switch (node.mode) {
      case TreeMode::kLeq: return x <= node.value;
      case TreeMode::kLt: return x < node.value;
      case TreeMode::kGte: return x >= node.value;
      case TreeMode::kGt: return x > node.value;
      case TreeMode::kEq: return x == node.value;
      case TreeMode::kNeq: return x != node.value;
      case TreeMode::kMember: return node.members.contains(x);
      case TreeMode::kLeaf: break;
    }
    return false;
  }

  /// The leaf that a row reaches; kInvalidModel where a feature does not exist or the branches go round in
  /// circles.
  const TreeNode& leaf(const EvalContext& c, size_t root, const double* row, int64_t features) const {
    size_t at = root;
    for (size_t steps = 0; steps <= nodes.size(); ++steps) {
      const TreeNode& node = nodes[at];
      if (node.mode == TreeMode::kLeaf) return node;
      c.check(node.feature >= 0 && node.feature < features, "nodes_featureids: expected features below " +
                                                                std::to_string(features) + ", found " +
                                                                std::to_string(node.feature));
      at = holds(node, row[node.feature]) ? node.if_true : node.if_false;
    }
    c.fail("expected trees, found branches that go round in a circle");
  }
};

/// How the votes for one target become one number.
class Aggregate {
 public:
  enum class Kind { kAverage, kSum, kMin, kMax };
  explicit Aggregate(Kind kind) : kind_(kind) {}
  static Kind kind_from(const std::string& name) {
    static const char* const kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    for (int i = 0; i < 4; ++i)
      if (name == kNames[i]) return static_cast<Kind>(i);
    throw Error(ErrorKind::kInvalidModel,
                "aggregate_function: expected AVERAGE, SUM, MIN or MAX, found " + name);
  }
  void add(double x) {
    value_ = !any_ || kind_ == Kind::kSum || kind_ == Kind::kAverage ? value_ + x
             : kind_ == Kind::kMin                                   ? std::min(value_, x)
                                                                     : std::max(value_, x);
    any_ = true;
  }
  double result(size_t trees) const {
    return kind_ == Kind::kAverage && trees ? value_ / static_cast<double>(trees) : value_;
  }
  bool any() const { return any_; }

 private:
  Kind kind_;
  double value_ = 0;
  bool any_ = false;
};

/// The votes of all trees on one row, one aggregate a target.
inline std::vector<Aggregate> tally(const EvalContext& c, const Forest& forest, const FeatureRows& x,
                                    int64_t row, Aggregate::Kind kind, size_t targets) {
  std::vector<Aggregate> votes(targets, Aggregate(kind));
  for (const size_t root : forest.roots)
    for (const auto& [target, weight] : forest.leaf(c, root, x.row(row), x.features).votes) {
      c.check(target >= 0 && static_cast<size_t>(target) < targets,
              "expected targets below " + std::to_string(targets) + ", found " + std::to_string(target));
      votes[static_cast<size_t>(target)].add(weight);
    }
  return votes;
}

/// A list that may be given as floats or, for more precision, as a tensor.
inline std::vector<double> floats_or_tensor(const Attributes& a, const std::string& name) {
  if (a.contains(name + "_as_tensor")) return a.require<Tensor>(name + "_as_tensor").to_doubles();
  const Floats list = a.get<Floats>(name, {});
  return {list.begin(), list.end()};
}

/// The trees of TreeEnsembleClassifier and TreeEnsembleRegressor; votes are called `votes` + `_treeids`,
/// `_nodeids`, `_ids` and `_weights`.
inline Forest forest_by_ids(const EvalContext& c, const std::string& votes) {
  const Attributes& a = c.attributes();
  const auto tree = a.get<Ints>("nodes_treeids", {}), id = a.get<Ints>("nodes_nodeids", {}),
             feature = a.get<Ints>("nodes_featureids", {}), yes = a.get<Ints>("nodes_truenodeids", {}),
             no = a.get<Ints>("nodes_falsenodeids", {}),
             missing = a.get<Ints>("nodes_missing_value_tracks_true", {});
  const auto modes = a.get<Strings>("nodes_modes", {});
  const std::vector<double> values = floats_or_tensor(a, "nodes_values");
  const size_t count = tree.size();
  c.check(
      id.size() == count && feature.size() == count && yes.size() == count && no.size() == count &&
          modes.size() == count && values.size() == count && (missing.empty() || missing.size() == count),
      "expected nodes_* lists of one length, found " + std::to_string(count) + " nodes_treeids and others");
  std::map<std::pair<int64_t, int64_t>, size_t> place;
  for (size_t i = 0; i < count; ++i)
    c.check(place.emplace(std::pair(tree[i], id[i]), i).second,
            "nodes_nodeids: expected each node once in its tree, found " + std::to_string(id[i]) + " twice");
  const auto find = [&](int64_t t, int64_t node) {
    const auto it = place.find({t, node});
    c.check(it != place.end(),
            "expected a node " + std::to_string(node) + " in tree " + std::to_string(t) + ", found none");
    return it->second;
  };
  Forest forest;
  std::vector<bool> is_child(count);
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.mode = tree_mode_from(modes[i]);
    node.feature = feature[i];
    node.value = values[i];
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    if (node.mode != TreeMode::kLeaf) {
      node.if_true = find(tree[i], yes[i]);
      node.if_false = find(tree[i], no[i]);
      is_child[node.if_true] = is_child[node.if_false] = true;
    }
    forest.nodes.push_back(std::move(node));
  }
  std::set<int64_t> rooted;
  for (size_t i = 0; i < count; ++i)
    if (!is_child[i] && rooted.insert(tree[i]).second) forest.roots.push_back(i);
  const auto vote_tree = a.get<Ints>(votes + "_treeids", {}), vote_node = a.get<Ints>(votes + "_nodeids", {}),
             vote_id = a.get<Ints>(votes + "_ids", {});
  const std::vector<double> weights = floats_or_tensor(a, votes + "_weights");
  c.check(vote_node.size() == vote_tree.size() && vote_id.size() == vote_tree.size() &&
              weights.size() == vote_tree.size(),
          "expected " + votes + "_* lists of one length");
  for (size_t i = 0; i < weights.size(); ++i)
    forest.nodes[find(vote_tree[i], vote_node[i])].votes.emplace_back(vote_id[i], weights[i]);
  return forest;
}

/// Attributes of both older operators, and those of votes called `votes`_*.
inline std::vector<AttributeSpec> tree_attributes(const std::string& votes) {
  std::vector<AttributeSpec> specs;
  const auto ints = [&](const std::string& name) { specs.push_back({name, Attribute(Ints{})}); };
  const auto floats = [&](const std::string& name) {
    specs.push_back({name, Attribute(Floats{})});
    specs.push_back({name + "_as_tensor", std::nullopt});
  };
  for (const char* name : {"nodes_falsenodeids", "nodes_featureids", "nodes_missing_value_tracks_true",
                           "nodes_nodeids", "nodes_treeids", "nodes_truenodeids"})
    ints(name);
  specs.push_back({"nodes_modes", Attribute(Strings{})});
  specs.push_back({"post_transform", Attribute(std::string("NONE"))});
  for (const char* name : {"_ids", "_nodeids", "_treeids"}) ints(votes + name);
  for (const std::string& name : {std::string("nodes_hitrates"), std::string("nodes_values"),
                                  std::string("base_values"), votes + "_weights"})
    floats(name);
  return specs;
}

}  // namespace wootz
