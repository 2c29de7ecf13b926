// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/node_pattern.h"

#include <fnmatch.h>

namespace wootz {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

bool matches_node(const std::string& pattern, const Node& node) {
  if (matches(pattern, node.op) || (!node.name.empty() && matches(pattern, node.name))) return true;
  for (const std::string& o : node.origins)
    if (matches(pattern, o)) return true;
  for (const Value* v : node.outputs())
    if (v && matches(pattern, v->name)) return true;
  return false;
}

}  // namespace wootz
