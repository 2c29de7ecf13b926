// SPDX-License-Identifier: Apache-2.0
// What an engine's types cost, node by node and output by output, beside an engine in the model's own types.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "cli/options.h"

namespace wootz::cli {

/// Of --of's model on the first of --samples: {"outputs": ..., "nodes": ...} as wootz/report.h has it. Builds
/// that engine untuned. Throws what build() and verify() do; kInvalidArgument without samples.
nlohmann::json precision_table(const Engine& engine, const Options& options);
/// The outputs, and the `all` or twenty nodes with the largest errors of their own.
void print_precision(const nlohmann::json& table, bool all);

}  // namespace wootz::cli
