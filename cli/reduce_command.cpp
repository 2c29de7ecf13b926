// SPDX-License-Identifier: Apache-2.0
// Each try runs in a process of its own: what crashes there is a failure like others.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include <unistd.h>
#include <wootz/reduce.h>

#include "cli/child.h"
#include "cli/json_number.h"
#include "cli/options.h"
#include "cli/output_path.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

constexpr int kWrongResult = 4, kSignal = 128;  // exit codes
constexpr double kSlowFactor = 4;               // times what arithmetic and memory allow

/// The flags that shape an engine, as words again; input shapes come with each model.
std::vector<std::string> build_words(const Options& o) {
  std::vector<std::string> words = {
      "--device",      o.device,    "--threads",      std::to_string(o.threads),
      "--precision",   o.precision, "--timing-cache", o.timing_cache,
      "--reproducers", "",          "--max-patches",  std::to_string(o.max_patches)};
  const auto add = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& v : values) words.insert(words.end(), {flag, v});
  };
  add("--precision-of", o.precision_of);
  add("--disable-pass", o.disabled_passes);
  add("--tactic", o.tactics);
  add("--budget", o.budget);
  if (!o.target.empty()) add("--target", {o.target});
  for (const auto& [flag, is_set] : {std::pair{"--no-tune", o.no_tune},
                                     {"--no-verify", o.no_verify},
                                     {"--no-vendor", o.no_vendor},
                                     {"--deterministic", o.deterministic}})
    if (is_set) words.emplace_back(flag);
  return words;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A message without names and numbers, which change from one model to the next.
std::string gist(const std::string& output) {
  const size_t at = output.rfind("wootz: ");
  const std::string line = output.substr(at == std::string::npos ? 0 : at);
  std::string text;
  bool quoted = false;
  for (char c : line) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (std::isalpha(static_cast<unsigned char>(c)) || c == ' ')) text += c;
    if (c == '\n') break;
  }
  return text.substr(0, 60);
}

/// A check of models: whether one fails as asked.
class Check {
 public:
  explicit Check(const Options& o) : o_(o), kind_(o.check) {
    const bool is_command = kind_.find("{}") != std::string::npos;
    if (!is_command && kind_ != "wrong" && kind_ != "error" && kind_ != "slow")
      throw Error(
          ErrorKind::kInvalidArgument,
          "--check: expected wrong, error, slow or a command with {} for the model, found '" + kind_ + "'");
  }

  bool fails(const std::string& model) {
    write_text_file(scratch_.file("model.onnx"), model);
    if (kind_ == "wrong") return is_wrong();
    if (kind_ == "error") return is_error();
    if (kind_ == "slow") return is_slow();
    std::string command = kind_;
    for (size_t at; (at = command.find("{}")) != std::string::npos;)
      command.replace(at, 2, "'" + scratch_.file("model.onnx") + "'");
    return run_program({"/bin/sh", "-c", command}, scratch_.file("output.txt")) != 0;
  }

 private:
  int run(std::vector<std::string> words) {
    words.insert(words.begin(), own_program());
    words.insert(words.begin() + 2, scratch_.file("model.onnx"));
    const std::vector<std::string> flags = build_words(o_);
    words.insert(words.end(), flags.begin(), flags.end());
    const int status = run_program(words, scratch_.file("output.txt"));
    output_ = text_of_file(scratch_.file("output.txt"));
    if (status == kSignal + 2) throw Error(ErrorKind::kCancelled, "cancelled; nothing was written");
    return status;
  }

  bool is_wrong() {
    const int status = run({"build", "-o", scratch_.file("model.wtz")});
    return status == kWrongResult || output_.find("thrown out: ") != std::string::npos;
  }

  /// The same error as the whole model's.
  bool is_error() {
    const int status = run({"build", "-o", scratch_.file("model.wtz")});
    if (status == 0) return false;
    const std::string told = status > kSignal ? "" : gist(output_);
    if (!error_) error_ = std::make_unique<std::pair<int, std::string>>(status, told);
    return *error_ == std::pair(status, told);
  }

  bool is_slow() {
    if (run({"explain", "--json"}) != 0) return false;
    const size_t at = output_.find('{');
    const auto j =
        nlohmann::json::parse(output_.begin() + static_cast<ptrdiff_t>(at == std::string::npos ? 0 : at),
                              output_.end(), nullptr, false);
    if (j.is_discarded()) return false;
    const double flops = std::stod(j["facts"]["device_flops_per_second"].get<std::string>());
    const double bytes = std::stod(j["facts"]["device_bytes_per_second"].get<std::string>());
    double time_us = 0, floor_us = 0;
    for (const auto& s : j["steps"]) {
      time_us += json_number(s["time_us"]);
      floor_us += 1e6 * std::max(json_number(s["flops"]) / flops, json_number(s["bytes"]) / bytes);
    }
    return floor_us > 0 && time_us > kSlowFactor * floor_us;
  }

  const Options& o_;
  const std::string kind_;
  const ScratchFolder scratch_;
  std::string output_;
  std::unique_ptr<std::pair<int, std::string>> error_;  // of the whole model
};

}  // namespace

int run_reduce(const Options& o) {
  if (o.output.empty()) throw Error(ErrorKind::kInvalidArgument, "reduce: expected -o FILE.onnx, found none");
  if (is_engine(o.model))
    throw Error(ErrorKind::kInvalidArgument,
                "reduce: expected an .onnx model, found the engine '" + o.model + "'");
  writable_path(o.output);
  Check check(o);
  ReduceOptions r;
  r.still_fails = [&](const std::string& model) { return check.fails(model); };
  r.shapes = parse_shapes(o.shapes);
  r.keep_weights = o.keep_weights;
  r.seconds = o.seconds;
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  r.progress = [&](size_t tries, size_t nodes) {
    if (is_terminal) std::fprintf(stderr, "\r%zu tries, %zu nodes   ", tries, nodes);
  };
  const ReducedModel reduced = reduce(o.model, r);
  if (is_terminal) std::fprintf(stderr, "\r\033[K");
  write_text_file(o.output, reduced.onnx_bytes);
  if (o.json) {
    const nlohmann::json j{{"output", o.output},
                           {"nodes_before", reduced.nodes_before},
                           {"nodes", reduced.nodes},
                           {"tries", reduced.tries},
                           {"has_weights_of_model", reduced.has_weights_of_model || o.keep_weights}};
    std::printf("%s\n", j.dump(1).c_str());
    return 0;
  }
  std::printf("%s: %zu of %zu nodes still fail (%s), %zu tries\n", o.output.c_str(), reduced.nodes,
              reduced.nodes_before, o.check.c_str(), reduced.tries);
  std::printf(reduced.has_weights_of_model ? "with the model's own weights: random ones did not fail\n"
              : o.keep_weights
                  ? "with the model's own weights\n"
                  : "weights are random numbers; small integer tensors and names are the model's\n");
  return 0;
}

}  // namespace wootz::cli
