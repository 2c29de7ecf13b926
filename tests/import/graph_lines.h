// SPDX-License-Identifier: Apache-2.0
// Graphs as lines that a test can compare: `y:float32[2] = test.Copy(x:float32[2])`, bodies in braces.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz::test_ops {

inline void add_lines(const Graph& graph, const std::string& indent, std::vector<std::string>& lines) {
  const auto show = [&](const Value* v) {
    return !v ? std::string("-") : v->name + ":" + to_string(v->type, graph.symbols());
  };
  for (const auto& node : graph.nodes()) {
    std::string line = indent;
    for (size_t i = 0; i < node->outputs().size(); ++i) line += (i ? ", " : "") + show(node->output(i));
    line += " = " + (node->domain.empty() ? "" : node->domain + ".") + node->op + "(";
    for (size_t i = 0; i < node->inputs().size(); ++i) line += (i ? ", " : "") + show(node->input(i));
    lines.push_back(line + (node->subgraphs().empty() ? ")" : ") {"));
    for (const Graph* body : node->subgraphs()) {
      add_lines(*body, indent + "  ", lines);
      std::string outputs = indent + "} ->";
      for (const Value* output : body->outputs()) outputs += " " + output->name;
      lines.push_back(outputs);
    }
  }
}

inline std::vector<std::string> lines_of(const Graph& graph) {
  std::vector<std::string> lines;
  add_lines(graph, "", lines);
  return lines;
}

}  // namespace wootz::test_ops
