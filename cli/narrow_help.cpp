// SPDX-License-Identifier: Apache-2.0
#include "cli/narrow_help.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>
#include <string>

namespace wootz::cli {
namespace {

/// CLI11's help with lines that fit a terminal: words that would not go below where the text of their line
/// began.
class NarrowHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string narrow;
    std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
    for (std::string line; std::getline(lines, line);) narrow += wrapped(line, line.starts_with("  "));
    return narrow;
  }

 private:
  static constexpr size_t kColumns = 80, kTextColumn = 30;  // the latter is CLI11's own

  static std::string wrapped(std::string line, bool is_entry) {
    const std::string indent(is_entry ? kTextColumn : 0, ' ');
    std::string result;
    while (line.size() > kColumns) {
      const size_t cut = line.rfind(' ', kColumns);
      if (cut == std::string::npos || cut <= indent.size()) break;
      result += line.substr(0, cut) + "\n";
      line = indent + line.substr(cut + 1);
    }
    return result + line + "\n";
  }
};

}  // namespace

void narrow_help(CLI::App& app) { app.formatter(std::make_shared<NarrowHelp>()); }

}  // namespace wootz::cli
