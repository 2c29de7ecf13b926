// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/npz.h"
#include "cli/progress.h"

namespace wootz::cli {

std::map<std::string, Dims> parse_shapes(const std::vector<std::string>& texts, ShapeEnd end) {
  std::map<std::string, Dims> shapes;
  for (const std::string& text : texts) {
    const auto fail = [&] {
      throw Error(ErrorKind::kInvalidArgument, "--shapes: expected NAME:1x3x224x224, found '" + text + "'");
    };
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) fail();
    Dims dims;
    std::string rest = text.substr(colon + 1);
    while (!rest.empty()) {
      const size_t cut = rest.find('x');
      std::string part = rest.substr(0, cut);
      rest = cut == std::string::npos ? "" : rest.substr(cut + 1);
      // A range MIN..OPT..MAX or MIN..MAX: it is tuned for the middle, or the last.
      if (const size_t first = part.find(".."); first != std::string::npos) {
        const std::string after = part.substr(first + 2), least = part.substr(0, first);
        const size_t second = after.find("..");
        if (end == ShapeEnd::kLeast) part = least;
        if (end == ShapeEnd::kTuned) part = after.substr(0, second);
        if (end == ShapeEnd::kMost) part = second == std::string::npos ? after : after.substr(second + 2);
      }
      if (part.empty() || part.size() > 12 || part.find_first_not_of("0123456789") != std::string::npos)
        fail();
      dims.push_back(std::stoll(part));
    }
    shapes[text.substr(0, colon)] = std::move(dims);
  }
  return shapes;
}

bool is_engine(const std::string& path) {
  if (path.ends_with(".wtz")) return true;
  constexpr std::string_view kMagic = "WOOTZENG";
  char head[kMagic.size()] = {};
  std::error_code ignored;  // a pipe must not be read from, let alone waited for
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return std::string_view(head, sizeof head) == kMagic;
}

Budget parse_budget(const std::vector<std::string>& texts) {
  Budget budget;
  for (const std::string& text : texts) {
    const char* const end = text.data() + text.size();
    double number = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const std::string_view unit(rest, static_cast<size_t>(end - rest));
    if (error != std::errc() || !std::isfinite(number) || number < 0 || !(unit.empty() || unit == "s") ||
        (unit == "s" && number == 0))
      throw Error(ErrorKind::kInvalidArgument,
                  "--budget: expected seconds to race (60s) or the largest loss by --metric (0.5), found '" +
                      text + "'");
    (unit == "s" ? budget.seconds : budget.loss) = number;
  }
  return budget;
}

BuildOptions build_options(const Options& o) {
  BuildOptions b;
  b.device = o.device;
  if (!o.target.empty()) {
    if (o.device != "cpu" && o.device != "cuda")
      throw Error(ErrorKind::kInvalidArgument,
                  "--target: expected no --device besides it, found " + o.device);
    b.device = "cuda:" + o.target;
  }
  b.threads = o.threads;
  b.shapes = parse_shapes(o.shapes);
  for (const ShapeEnd end : {ShapeEnd::kLeast, ShapeEnd::kMost})
    if (auto shapes = parse_shapes(o.shapes, end); shapes != b.shapes)
      b.verify_shapes.push_back(std::move(shapes));
  b.tune = !o.no_tune;
  b.race_seconds = parse_budget(o.budget).seconds;
  b.verify = !o.no_verify;
  b.vendor_libraries = !o.no_vendor;
  b.precision = o.precision;
  b.precision_of = o.precision_of;
  for (const std::string& path : o.samples) {
    NamedData sample;
    for (auto& [name, tensor] : read_npz(path)) sample[name] = Datum(std::move(tensor));
    b.samples.push_back(std::move(sample));
  }
  b.timing_cache = o.timing_cache;
  b.tactics = o.tactics;
  b.decisions = o.decisions;
  b.deterministic = o.deterministic;
  b.reproducers = o.reproducers;
  b.marks = o.marks;
  b.disabled_passes = o.disabled_passes;
  b.max_patches = o.max_patches;
  b.dump_folder = o.dump;
  return b;
}

namespace {

/// A flag that asks something of a build; empty when there is none.
std::string build_flag(const Options& o) {
  if (!o.marks.empty()) return "--mark";
  if (!o.shapes.empty()) return "--shapes";
  if (!o.target.empty()) return "--target";
  if (o.precision != Options().precision) return "--precision";
  if (!o.precision_of.empty()) return "--precision-of";
  if (!o.samples.empty()) return "--samples";
  if (!o.tactics.empty()) return "--tactic";
  if (!o.decisions.empty()) return "--decisions";
  if (o.deterministic) return "--deterministic";
  if (!o.disabled_passes.empty()) return "--disable-pass";
  if (o.max_patches != Options().max_patches) return "--max-patches";
  if (!o.dump.empty()) return "--dump";
  if (o.no_tune) return "--no-tune";
  if (!o.budget.empty()) return "--budget";
  if (o.no_verify) return "--no-verify";
  return o.no_vendor ? "--no-vendor" : "";
}

}  // namespace

Engine open_model(const Options& o) {
  if (is_engine(o.model)) {
    // Of two sides, one may be a model.
    if (const std::string flag = build_flag(o); !flag.empty() && (o.other.empty() || is_engine(o.other)))
      throw Error(ErrorKind::kInvalidArgument,
                  flag + ": the engine '" + o.model + "' is built already; expected an .onnx model");
    LoadOptions load;
    if (o.device != "cpu") load.device = o.device;
    load.self_test = !o.no_self_test;
    return Engine::load(o.model, load);
  }
  BuildOptions b = build_options(o);
  ProgressLine line;
  b.progress = [&](const BuildProgress& p) { return line(p); };
  return build(o.model, b);
}

Engine open_for_inputs(const Options& options) {
  Options o = options;
  if (is_engine(o.model)) o.shapes.clear();
  return open_model(o);
}

}  // namespace wootz::cli
