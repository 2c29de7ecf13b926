// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include <wootz/wootz.h>

#include "cli/options.h"

namespace {

using wootz::cli::Options;

/// Exit codes, documented in docs/cli.md.
int exit_code(wootz::ErrorKind kind) {
  switch (kind) {
    case wootz::ErrorKind::kInvalidArgument: return 2;
    case wootz::ErrorKind::kInvalidModel:
    case wootz::ErrorKind::kUnsupported:
    case wootz::ErrorKind::kInvalidEngine: return 3;
    case wootz::ErrorKind::kVerification: return 4;
    case wootz::ErrorKind::kIo: return 5;
    case wootz::ErrorKind::kOutOfMemory: return 6;
    case wootz::ErrorKind::kDevice: return 7;
    case wootz::ErrorKind::kCancelled: return 130;
    case wootz::ErrorKind::kInternal: break;
  }
  return 70;
}

void add_build_flags(CLI::App& command, Options& o) {
  command.add_option("--device", o.device, "cpu")->capture_default_str();
  command.add_option("--threads", o.threads, "threads; 0: every CPU that the process may use")
      ->capture_default_str();
  command.add_option("--shapes", o.shapes, "NAME:1x3x224x224, the shape to tune an input for");
  command.add_option("--mark", o.marks, "an inner tensor that becomes an output too");
  command.add_option("--timing-cache", o.timing_cache,
                     "file of measured times; default: ~/.cache/wootz/timings.txt; '': none");
  command.add_option("--disable-pass", o.disabled_passes, "a graph pass or rule to leave out");
  command.add_option("--max-patches", o.max_patches, "stop the graph passes after so many changes");
  command.add_option("--dump", o.dump, "folder for the graph's text before and after each pass");
  command.add_flag("--no-tune", o.no_tune, "take first guesses instead of racing tactics");
  command.add_flag("--no-verify", o.no_verify, "do not hold the whole engine against the imported graph");
  command.add_flag("--no-vendor", o.no_vendor, "keep vendor libraries (oneDNN) out of the race");
}

struct Command {
  const char *name, *doc;
  int (*run)(const Options&);
};

const Command kCommands[] = {
    {"build", "compile an ONNX model into an engine", wootz::cli::run_build},
    {"run", "run an engine or model on arrays from a .npz file", wootz::cli::run_run},
    {"bench", "measure latency, throughput and each step", wootz::cli::run_bench},
    {"inspect", "show an engine's inputs, outputs and facts", wootz::cli::run_inspect},
    {"explain", "show where every node went, which kernel won, and what it cost", wootz::cli::run_explain},
    {"verify", "hold an engine against expected values or the reference", wootz::cli::run_verify},
    {"tune", "race an engine's kernels again on this machine", wootz::cli::run_tune},
};

CLI::App* add_command(CLI::App& app, const Command& c, Options& o) {
  CLI::App* command = app.add_subcommand(c.name, c.doc);
  command->add_option("model", o.model, "an .onnx model or a .wtz engine")->required();
  add_build_flags(*command, o);
  command->add_flag("--json", o.json, "print JSON");
  const std::string name = c.name;
  if (name == "build" || name == "tune")
    command->add_option("-o,--output", o.output, "the engine file to write");
  if (name == "run" || name == "bench")
    command->add_option("--inputs", o.inputs, "a .npz file with an array for each input");
  if (name == "run") command->add_option("--outputs", o.outputs, "the .npz file to write");
  if (name == "run" || name == "verify")
    command->add_flag("--reference", o.reference, "run by the references instead of an engine (.onnx only)");
  if (name == "verify") {
    command->add_option("--expect", o.expect, "a .npz file of inputs and expected outputs");
    command->add_option("--tolerance", o.tolerance,
                        "relative error allowed; 0: by type (1e-4 float32, 1e-2 float16)");
  }
  if (name == "bench") {
    command->add_option("--duration", o.duration, "seconds to measure")->capture_default_str();
    command->add_option("--iterations", o.iterations, "runs to measure instead of a duration");
  }
  if (name == "explain") {
    command->add_option("--width", o.width, "columns; 0: the terminal's");
    command->add_option("--html", o.html,
                        "write one self-contained page: time, rivals, roofline, graph, memory");
  }
  return command;
}

std::string version_text() {
  std::string text = "wootz " WOOTZ_VERSION " (g++ " __VERSION__ ")";
  for (const std::string& line : wootz::describe_devices()) text += "\n" + line;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Wootz compiles a trained network (ONNX) into a fast engine, proves that it computes what the model "
      "says, and runs it."};
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  Options options;
  std::vector<std::pair<CLI::App*, const Command*>> commands;
  for (const Command& c : kCommands) commands.emplace_back(add_command(app, c, options), &c);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  }
  try {
    for (const auto& [app_command, command] : commands)
      if (app_command->parsed()) return command->run(options);
  } catch (const wootz::Error& e) {
    std::fprintf(stderr, "wootz: %s: %s\n", std::string(wootz::error_kind_name(e.kind())).c_str(), e.what());
    return exit_code(e.kind());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wootz: internal error: %s; this is a bug in Wootz, please report it\n", e.what());
    return 70;
  }
  return 0;
}
