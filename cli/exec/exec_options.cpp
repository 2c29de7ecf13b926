// SPDX-License-Identifier: Apache-2.0
#include "cli/exec/exec_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/exec/exec_flags.h"
#include "cli/narrow_help.h"
#include "cli/options.h"

namespace wootz::cli {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

[[noreturn]] void fail(std::string_view flag, const std::string& text) {
  throw Error(ErrorKind::kInvalidArgument, "--" + std::string(flag) + ": " + text);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

double number(std::string_view flag, const std::string& text, double least = 0) {
  size_t used = 0;
  double x = 0;
  try {
    x = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  if (text.empty() || used != text.size() || !(x >= least))
    fail(flag, "expected a number of at least " + std::to_string(int(least)) + ", found '" + text + "'");
  return x;
}

/// The value must be the only one that makes sense here.
void only(std::string_view flag, const std::string& found, std::initializer_list<std::string_view> allowed,
          const char* instead) {
  std::string list;
  for (std::string_view a : allowed) {
    if (a == found) return;
    list += (list.empty() ? "" : " or ") + std::string(a);
  }
  fail(flag, "expected " + list + ", found '" + found + "'; " + instead);
}

std::vector<std::pair<std::string, std::string>> named_files(std::string_view flag, const std::string& text) {
  if (text.ends_with(".npz")) return {{"", text}};
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == part.size())
      fail(flag, "expected name:file,... or one .npz file, found '" + part + "'");
    files.emplace_back(part.substr(0, colon), part.substr(colon + 1));
  }
  return files;
}

/// Reads the flags that were given, one after another; each has one meaning.
class Reader {
 public:
  Reader(const Values& values, ExecOptions& options) : values_(values), o_(options) {}

  void read() {
    read_files();
    read_shapes();
    read_build();
    read_precision();
    read_limits();
    read_run();
    read_reports();
  }

 private:
  const std::string* given(std::string_view flag) const {
    const auto it = values_.find(flag);
    return it == values_.end() ? nullptr : &it->second;
  }
  bool has(std::string_view flag) const { return given(flag) != nullptr; }
  void text(std::string_view flag, std::string& target) const {
    if (const std::string* v = given(flag)) target = *v;
  }
  template <class T>
  void count(std::string_view flag, T& target, double least = 0) const {
    if (const std::string* v = given(flag)) target = static_cast<T>(number(flag, *v, least));
  }

  void read_files() {
    text("onnx", o_.onnx);
    text("loadEngine", o_.load_engine);
    text("saveEngine", o_.save_engine);
    if (o_.onnx.empty() == o_.load_engine.empty())
      throw Error(ErrorKind::kInvalidArgument,
                  o_.onnx.empty() ? "exec: expected --onnx=MODEL.onnx or --loadEngine=FILE.wtz, found neither"
                                  : "exec: expected one of --onnx and --loadEngine, found both");
  }

  void shapes(std::string_view flag, std::map<std::string, Dims>& target) const {
    if (const std::string* v = given(flag)) target = parse_shapes(split(*v, ','));
  }
  void read_shapes() {
    shapes("minShapes", o_.min_shapes);
    shapes("maxShapes", o_.max_shapes);
    shapes("optShapes", o_.build.shapes);
    shapes("shapes", o_.shapes);
    if (o_.build.shapes.empty()) o_.build.shapes = o_.shapes;
    for (const auto& ends : {o_.min_shapes, o_.max_shapes})
      if (!ends.empty() && ends != o_.build.shapes) o_.build.verify_shapes.push_back(ends);
  }

  void read_build() {
    if (has("noBuilderCache")) o_.build.timing_cache = "";
    text("timingCacheFile", o_.build.timing_cache);
    if (const std::string* v = given("builderOptimizationLevel")) {
      const double level = number("builderOptimizationLevel", *v);
      if (level > 5) fail("builderOptimizationLevel", "expected 0 to 5, found '" + *v + "'");
      o_.build.tune = level >= 1;
    }
    if (const std::string* v = given("markDebug")) o_.build.marks = split(*v, ',');
    if (const std::string* v = given("device"))
      o_.build.device = *v == "cpu" ? "cpu" : "cuda:" + std::to_string(int(number("device", *v)));
    if (has("noDataTransfers") && o_.build.device != "cpu")
      fail("noDataTransfers",
           "inputs and outputs are host memory, so copies are part of every time; wootz bench shows "
           "them apart");
    if (const std::string* v = given("memPoolSize"))
      for (const std::string& part : split(*v, ',')) {
        if (!part.starts_with("workspace:"))
          fail("memPoolSize", "expected workspace:MiB, found '" + part + "'; there is no other pool");
        o_.workspace_mib = number("memPoolSize", part.substr(10));
      }
  }

  void read_precision() {
    if (has("fp16") || has("best")) o_.build.precision = "fp16";
    if (has("bf16")) o_.build.precision = "bf16";
    if (const std::string* v = given("precisionConstraints"))
      only("precisionConstraints", *v, {"none", "prefer", "obey"}, "leave the flag out");
    if (const std::string* v = given("layerPrecisions"))
      for (const std::string& part : split(*v, ',')) {
        const size_t colon = part.rfind(':');
        const std::string type = colon == std::string::npos ? "" : part.substr(colon + 1);
        if (type != "fp32" && type != "fp16" && type != "bf16")
          fail("layerPrecisions", "expected name:fp32, name:fp16 or name:bf16, found '" + part + "'");
        o_.build.precision_of.push_back(part.substr(0, colon) + "=" + type);
      }
  }

  /// Flags of which one value alone has a meaning here.
  void read_limits() {
    const auto check = [&](std::string_view flag, std::initializer_list<std::string_view> allowed,
                           const char* instead) {
      if (const std::string* v = given(flag)) only(flag, *v, allowed, instead);
    };
    check("profile", {"0"}, "an engine takes every shape; tune for one set with --optShapes");
    check("useProfile", {"0"}, "an engine takes every shape; tune for one set with --optShapes");
    check("sparsity", {"disable"}, "there are no kernels for 2:4 sparse weights");
    check("hardwareCompatibilityLevel", {"none"}, "wootz tune prepares an engine for another card");
    check("runtimePlatform", {"sameAsBuild"}, "engines run on Linux");
    check("maxAuxStreams", {"0"}, "an inference uses one stream");
    check("allocationStrategy", {"static"}, "memory is planned and allocated once for each context");
    for (const char* flag : {"inputIOFormats", "outputIOFormats"})
      if (const std::string* v = given(flag))
        for (const std::string& part : split(*v, ','))
          if (!part.ends_with(":chw"))
            fail(flag, "expected type:chw, found '" + part + "'; inputs and outputs are row-major");
  }

  void read_run() {
    if (const std::string* v = given("loadInputs")) o_.load_inputs = named_files("loadInputs", *v);
    if (const std::string* v = given("loadRefOutputs"))
      o_.reference_outputs = named_files("loadRefOutputs", *v);
    text("accuracyAlgorithm", o_.accuracy);
    only("accuracyAlgorithm", o_.accuracy, {"l0", "l1", "l2", "lInf", "cos"}, "l0 takes --atol and --rtol");
    count("atol", o_.atol);
    count("rtol", o_.rtol);
    count("accuracyThreshold", o_.accuracy_threshold);
    count("iterations", o_.iterations);
    count("duration", o_.duration_s);
    count("warmUp", o_.warm_up_ms);
    count("sleepTime", o_.sleep_ms);
    count("idleTime", o_.idle_ms);
    count("infStreams", o_.streams, 1);
    count("streams", o_.streams, 1);
    o_.skip_inference = has("skipInference") || has("buildOnly");
    o_.time_deserialize = has("timeDeserialize");
    o_.plan_version_only = has("getPlanVersionOnly");
    for (const char* flag : {"saveDebugTensors", "saveAllDebugTensors"}) {
      const std::string* v = given(flag);
      if (!v) continue;
      if (!v->ends_with("numpy"))
        fail(flag, "expected the format numpy, found '" + *v + "'; wootz compare prints values");
      if (o_.build.marks.empty())
        fail(flag, "expected --markDebug=NAME,... with the tensors to keep, found none");
      o_.save_debug = true;
    }
  }

  void read_reports() {
    o_.verbose = has("verbose");
    count("avgRuns", o_.average_runs, 1);
    if (const std::string* v = given("percentile")) {
      o_.percentiles.clear();
      for (const std::string& part : split(*v, ',')) {
        const double p = number("percentile", part);
        if (p > 100) fail("percentile", "expected 0 to 100, found '" + part + "'");
        o_.percentiles.push_back(p);
      }
    }
    o_.dump_output = has("dumpOutput");
    o_.dump_raw = has("dumpRawBindingsToFile");
    o_.dump_profile = has("dumpProfile");
    o_.dump_layers = has("dumpLayerInfo");
    o_.dump_shapes = has("dumpOptimizationProfile");
    text("exportTimes", o_.export_times);
    text("exportOutput", o_.export_output);
    text("exportProfile", o_.export_profile);
    text("exportLayerInfo", o_.export_layers);
    text("profilingVerbosity", o_.verbosity);
    only("profilingVerbosity", o_.verbosity, {"layer_names_only", "detailed", "none"},
         "detailed shows rivals too");
  }

  const Values& values_;
  ExecOptions& o_;
};

}  // namespace

bool parse_exec(const std::vector<std::string>& words, ExecOptions& options) {
  CLI::App app{"Takes the flags of NVIDIA's trtexec and answers with the same kinds of summary.",
               "wootz exec"};
  narrow_help(app);
  Values values;
  for (const ExecFlag& flag : exec_flags()) {
    const std::string name(flag.name);
    const std::string text = flag.fate == FlagFate::kDone    ? std::string(flag.text)
                             : flag.fate == FlagFate::kNoted ? "accepted: " + std::string(flag.text)
                                                             : "refused: " + std::string(flag.text);
    if (flag.takes_value)
      app.add_option_function<std::string>(
          "--" + name, [&values, name](const std::string& v) { values[name] = v; }, text);
    else
      app.add_flag_callback(
          "--" + name, [&values, name] { values[name] = ""; }, text);
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp& e) {
    app.exit(e);
    return false;
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::kInvalidArgument,
                std::string("exec: ") + e.what() + "; wootz exec --help lists the flags");
  }
  for (const auto& [name, value] : values) {
    const ExecFlag& flag = *find_exec_flag(name);
    if (flag.fate == FlagFate::kRefused) fail(name, "not done here: " + std::string(flag.text));
    if (flag.fate == FlagFate::kNoted) options.notes.push_back("--" + name + ": " + std::string(flag.text));
  }
  Reader(values, options).read();
  return true;
}

}  // namespace wootz::cli
