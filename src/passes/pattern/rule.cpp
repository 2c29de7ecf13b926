// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/rule.h"

namespace wootz {

RuleSet::RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (size_t r = 0; r < rules_.size(); ++r) {
    std::vector<Pattern>& patterns = patterns_.emplace_back();
    for (const std::string& text : rules_[r].patterns) {
      patterns.emplace_back(text);
      for (const std::string& op : patterns.back().root_ops())
        by_root_[op].emplace_back(r, patterns.size() - 1);
    }
  }
}

bool RuleSet::apply(Graph& graph, PassContext& context) const {
  constexpr int kMaxSweeps = 64;
  bool changed = false;
  for (int i = 0; i < kMaxSweeps && sweep(graph, context); ++i) changed = true;
  return changed;
}

bool RuleSet::sweep(Graph& graph, PassContext& context) const {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it;
    for (Graph* inner : node.subgraphs()) changed |= sweep(*inner, context);
    // A patch drops only the match and what it read, all of which stand at or before the root.
    ++it;
    if (is_live(node)) changed |= apply_at(node, context);
  }
  return changed;
}

bool RuleSet::apply_at(Node& node, PassContext& context) const {
  auto it = by_root_.find(node.op);
  if (it == by_root_.end() || context.exhausted()) return false;
  for (const auto& [index, pattern] : it->second) {
    const Rule& rule = rules_[index];
    std::optional<Match> match = patterns_[index][pattern].match(node, rule.allow_shared);
    if (!match) continue;
    std::optional<Patch> patch = rule.build(*match, context);
    if (patch && apply_patch(*patch, node, rule.formula, context)) return true;
  }
  return false;
}

}  // namespace wootz
