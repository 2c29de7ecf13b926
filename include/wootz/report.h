// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <wootz/export.h>

namespace wootz {

/// One HTML page that needs nothing else, of an explanation (Engine::explain_json) that may have been given a
/// section `precision`: {"outputs": [{"output", "before", "after"}], "nodes": [{"node", "op", "type",
/// "before", "after"}]} with the numbers of `wootz explain --of MODEL --json`.
WOOTZ_API std::string html_report(const std::string& explanation_json);

}  // namespace wootz
