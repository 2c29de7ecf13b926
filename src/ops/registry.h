// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "ops/op.h"

namespace wootz {

/// All operators, by domain and name.
class OpRegistry {
 public:
  void add(OpDef def);
  const OpDef* find(std::string_view domain, std::string_view name) const;
  const OpDef* find(const Node& node) const { return find(node.domain, node.op); }
  const std::map<std::pair<std::string, std::string>, OpDef, std::less<>>& all() const { return defs_; }

  /// The registry of the operators in this build; user operators are added to it before any model is read.
  static OpRegistry& global();

 private:
  std::map<std::pair<std::string, std::string>, OpDef, std::less<>> defs_;
};

/// What messages call a node: its operator, and its name or the name of its first output.
std::string node_label(const Node& node);

/// The definition of a node's operator; kUnsupported when there is none.
const OpDef& op_of(const Node& node);

}  // namespace wootz
