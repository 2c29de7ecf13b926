// SPDX-License-Identifier: Apache-2.0
#include "compiler/marks.h"

#include <fnmatch.h>

#include "base/error.h"

namespace wootz {
namespace {

size_t mark_matching(Graph& graph, const std::string& pattern) {
  size_t count = 0;
  for (const auto& node : graph.nodes())
    for (Value* v : node->outputs()) {
      if (!v || v->name.empty() || fnmatch(pattern.c_str(), v->name.c_str(), 0) != 0) continue;
      ++count;
      if (!graph.is_output(v)) graph.add_output(v);
    }
  return count;
}

}  // namespace

void mark_values(Graph& graph, const std::vector<std::string>& marks) {
  for (const std::string& mark : marks) {
    if (Value* v = graph.find_value(mark)) {
      if (!graph.is_output(v)) graph.add_output(v);
      continue;
    }
    const bool is_pattern = mark.find_first_of("*?[") != std::string::npos;
    if (!is_pattern || mark_matching(graph, mark) == 0)
      throw Error(
          ErrorKind::kInvalidArgument,
          "--mark: expected the name of a tensor in the model, or a pattern that matches some, found '" +
              mark + "'");
  }
}

}  // namespace wootz
