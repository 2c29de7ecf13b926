// SPDX-License-Identifier: Apache-2.0
// A rule: a formula, the patterns (spellings) that it covers, and the patch it makes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"

namespace wootz {

/// `formula` is the rule's name in logs and options. `patterns` are alternatives, tried in order. `build`
/// returns nothing when a condition that a pattern cannot say does not hold.
struct Rule {
  std::string_view formula;  // names the rule in logs and options
  std::vector<std::string> patterns;
  std::optional<Patch> (*build)(const Match& match, PassContext& context);
  bool allow_shared = false;  // inner values may have readers outside the match
};

/// Applies rules over a graph and its subgraphs until none matches (at most 64 sweeps). Returns whether any
/// did.
class RuleSet {
 public:
  explicit RuleSet(std::vector<Rule> rules);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;
  bool apply(Graph& graph, PassContext& context) const;

 private:
  bool sweep(Graph& graph, PassContext& context) const;
  bool apply_at(Node& node, PassContext& context) const;
  std::vector<Rule> rules_;
  std::vector<std::vector<Pattern>> patterns_;  // of each rule
  std::map<std::string, std::vector<std::pair<size_t, size_t>>, std::less<>>
      by_root_;  // op -> (rule, pattern)
};

}  // namespace wootz
