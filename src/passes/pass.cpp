// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"

#include <algorithm>

namespace wootz {

bool PassContext::enabled(std::string_view pass_or_rule) const {
  const auto it = std::find(options.disabled.begin(), options.disabled.end(), pass_or_rule);
  if (it == options.disabled.end()) return true;
  met_.insert(*it);
  return false;
}

std::vector<std::string> PassContext::never_met() const {
  std::vector<std::string> names;
  for (const std::string& name : options.disabled)
    if (!met_.contains(name)) names.push_back(name);
  return names;
}

bool PassContext::allow_patch(std::string_view rule) {
  if (exhausted()) return false;
  ++patches;
  auto it = rule_counts.find(rule);
  if (it == rule_counts.end()) it = rule_counts.emplace(std::string(rule), 0).first;
  ++it->second;
  return true;
}

void PassContext::remark(std::vector<std::string> origins, std::string text, double gain_us,
                         std::string edit) {
  remarks.push_back({current_pass, std::move(origins), std::move(text), gain_us, std::move(edit)});
}

void PassContext::remark(const Node& node, std::string text) { remark(node.origins, std::move(text)); }

}  // namespace wootz
