// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <wootz/mixed.h>

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/output_path.h"
#include "cli/progress.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string shell = "'";
  for (char c : text) shell += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return shell + "'";
}

/// `PYTHON SCRIPT EXPECTED.npz FOUND.npz`, by the Python that WOOTZ_PYTHON names (python3 without it), prints
/// the loss as the last word of its output.
class ScriptMetric {
 public:
  explicit ScriptMetric(std::string script) : script_(std::move(script)) {
    if (!std::filesystem::is_regular_file(script_))
      throw Error(ErrorKind::kIo, "--metric: expected a Python script, found none at '" + script_ + "'");
    std::string pattern = (std::filesystem::temp_directory_path() / "wootz_metric_XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw Error(ErrorKind::kIo, "--metric: cannot make a folder like '" + pattern + "'");
    folder_ = pattern;
  }
  ~ScriptMetric() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ScriptMetric(const ScriptMetric&) = delete;
  ScriptMetric& operator=(const ScriptMetric&) = delete;

  double operator()(const NamedData& expected, const NamedData& found) const {
    const std::string want = folder_ + "/expected.npz", got = folder_ + "/found.npz";
    write_npz(want, expected);
    write_npz(got, found);
    const char* python = std::getenv("WOOTZ_PYTHON");
    const std::string command =
        quoted(python ? python : "python3") + " " + quoted(script_) + " " + quoted(want) + " " + quoted(got);
    FILE* pipe = ::popen(command.c_str(), "r");
    if (!pipe) throw Error(ErrorKind::kIo, "--metric: cannot run Python; WOOTZ_PYTHON names the one to use");
    std::string output;
    char buffer[256];
    while (std::fgets(buffer, sizeof buffer, pipe)) output += buffer;
    const int status = ::pclose(pipe);
    while (!output.empty() && std::isspace(static_cast<unsigned char>(output.back()))) output.pop_back();
    const std::string last = output.substr(output.find_last_of(" \n\t") + 1);
    char* end = nullptr;
    const double loss = std::strtod(last.c_str(), &end);
    if (status != 0 || last.empty() || *end != '\0' || std::isnan(loss))
      throw Error(ErrorKind::kInvalidArgument,
                  "--metric: expected the script to print a number at last, found '" + last +
                      "' (exit status " + std::to_string(status) + ")");
    return loss;
  }

 private:
  std::string script_, folder_;
};

void print_trials(const MixedResult& r) {
  std::printf("%-34s %10s %10s\n", "types", "error", "ms");
  for (const MixedTrial& t : r.trials) {
    if (std::isfinite(t.time_ms))
      std::printf("%-34.34s %10.1e %10.3f%s%s\n", t.what.c_str(), t.error, t.time_ms,
                  t.on_front ? "  on the front" : "", t.chosen ? ", chosen" : "");
    else
      std::printf("%-34.34s %10s %10s  %.80s\n", t.what.c_str(), "-", "-", t.problem.c_str());
  }
  std::printf("%s\n", r.reason.c_str());
}

}  // namespace

Engine search_types(const Options& o) {
  Options plain = o;
  plain.precision = Options().precision;
  MixedOptions m;
  m.build = build_options(plain);
  m.max_error = o.metric.empty() ? o.max_error : parse_budget(o.budget).loss;
  m.seconds = o.search_seconds;
  std::optional<ScriptMetric> metric;
  if (!o.metric.empty()) {
    metric.emplace(o.metric);
    m.metric = [&](const NamedData& expected, const NamedData& found) { return (*metric)(expected, found); };
  }
  const std::string types =
      o.types.empty() ? std::filesystem::path(o.output).replace_extension(".types.json").string() : o.types;
  writable_path(types);
  if (o.resume && std::filesystem::exists(types)) m.resume = read_text_file(types);
  m.checkpoint = [&](const std::string& so_far) { write_text_file(types, so_far); };
  ProgressLine line;
  m.build.progress = [&](const BuildProgress& p) { return line(p); };
  const MixedResult result = build_mixed(o.model, m);
  line.clear();
  write_text_file(types, result.types);
  if (!o.json) print_trials(result);
  return result.engine;
}

Engine build_in_int8(const Options& o) {
  Options plain = o;
  plain.precision = Options().precision;
  BuildOptions b = build_options(plain);
  b.precision = o.precision;
  ProgressLine line;
  b.progress = [&](const BuildProgress& p) { return line(p); };
  const Int8Result result = build_int8(o.model, b);
  line.clear();
  if (!o.json) std::printf("%s\n", result.reason.c_str());
  return result.engine;
}

}  // namespace wootz::cli
