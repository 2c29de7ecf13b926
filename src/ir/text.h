// SPDX-License-Identifier: Apache-2.0
// The text form of a graph: one line a node, readable and parseable; pass tests and dumps use it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace wootz {

struct TextOptions {
  bool origins = false;      // `; from a, b` after each node
  int64_t max_constant = 16; // larger constants print as `dtype[dims] @hash`; such text does not parse
};

std::string to_text(const Graph& graph, const TextOptions& options = {});
/// Parses what to_text prints. Error(kInvalidArgument) names line and column.
std::unique_ptr<Graph> graph_from_text(std::string_view text);

}  // namespace wootz
