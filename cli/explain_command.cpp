// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>
#include <wootz/report.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/output_path.h"
#include "cli/precision_table.h"
#include "cli/text_file.h"

namespace wootz::cli {

int run_explain(const Options& o) {
  if (!o.html.empty()) writable_path(o.html);
  Options opened = o;
  if (is_engine(o.model)) opened.samples.clear();  // they are what --of is run on
  const Engine engine = open_model(opened);
  nlohmann::json table;
  if (!o.of_model.empty()) table = precision_table(engine, o);
  if (!o.html.empty() || o.json) {
    std::string text = engine.explain_json();
    if (!table.is_null()) {
      nlohmann::json j = nlohmann::json::parse(text);
      j["precision"] = table;
      text = j.dump(o.html.empty() ? 1 : -1);
    }
    if (o.html.empty()) {
      std::printf("%s\n", text.c_str());
      return 0;
    }
    write_text_file(o.html, table.is_null() ? engine.explain_html() : html_report(text));
    std::printf("%s: open it in a browser\n", o.html.c_str());
    return 0;
  }
  int width = o.width;
  winsize size{};
  if (width == 0) width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
  std::fputs(engine.explain_text(width).c_str(), stdout);
  if (!table.is_null()) print_precision(table, o.all);
  return 0;
}

}  // namespace wootz::cli
