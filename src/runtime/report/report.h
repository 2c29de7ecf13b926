// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wootz {

/// An embedded file of this folder, e.g. "page.html". Throws Error(kInternal) for a name that is not there.
std::string_view report_text(std::string_view name);
std::vector<std::string_view> report_text_names();

/// One HTML page that needs nothing else, made of an engine's explanation (Engine::explain_json).
std::string report_html(std::string_view explanation_json);

}  // namespace wootz
