// SPDX-License-Identifier: Apache-2.0
// Which passes run, in which order.
#pragma once
#include <string>
#include <vector>

#include "passes/pass.h"

namespace wootz {

struct Phase {
  std::string name;
  std::vector<Pass> passes;
  bool repeat = false;  // until a round changes nothing
};

std::vector<Phase> pipeline();

/// Runs the phases named from `first` to `last` (empty: from the start, to the end).
void run_pipeline(Graph& graph, PassContext& context, std::string_view first = {},
                  std::string_view last = {});

}  // namespace wootz
