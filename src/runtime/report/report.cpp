// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/report.h"

#include <wootz/report.h>

#include "base/error.h"

namespace wootz {
namespace {

/// No text of a model may end the script element that holds it.
std::string safe_in_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

void put(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  WOOTZ_ASSERT(at != std::string::npos);
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string report_html(std::string_view explanation_json) {
  std::string page(report_text("page.html"));
  put(page, "@WOOTZ_SCRIPT@", report_text("page.js"));
  put(page, "@WOOTZ_DATA@", safe_in_script(explanation_json));
  return page;
}

std::string html_report(const std::string& explanation_json) { return report_html(explanation_json); }

}  // namespace wootz
