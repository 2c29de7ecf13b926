// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "cli/options.h"
#include "cli/output_path.h"
#include "cli/text_file.h"

namespace wootz::cli {

int run_explain(const Options& o) {
  if (!o.html.empty()) writable_path(o.html);
  const Engine engine = open_model(o);
  if (!o.html.empty()) {
    write_text_file(o.html, engine.explain_html());
    std::printf("%s: open it in a browser\n", o.html.c_str());
    return 0;
  }
  if (o.json) {
    std::printf("%s\n", engine.explain_json().c_str());
    return 0;
  }
  int width = o.width;
  winsize size{};
  if (width == 0) width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
  std::fputs(engine.explain_text(width).c_str(), stdout);
  return 0;
}

}  // namespace wootz::cli
