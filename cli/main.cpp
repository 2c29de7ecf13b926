// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include <wootz/wootz.h>

#include "cli/exec/exec_options.h"
#include "cli/narrow_help.h"
#include "cli/options.h"
#include "cli/quantize/doctor_flags.h"
#include "cli/quantize/prune_flags.h"
#include "cli/quantize/quantize_flags.h"

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

constexpr int kMostThreads = 1024;
constexpr double kLongestBench = 86400;  // seconds

/// Not CLI::Range: that lets NaN pass.
CLI::Validator between(double low, double high) {
  return {[low, high](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return "";
            char message[96];
            std::snprintf(message, sizeof message, "expected a number from %g to %g, found ", low, high);
            return message + text;
          },
          ""};
}

void add_build_flags(CLI::App& command, Options& o) {
  command.add_option("--device", o.device, "cpu, cuda (the first NVIDIA GPU) or cuda:N")
      ->capture_default_str();
  command.add_option(
      "--target", o.target,
      "build for an NVIDIA GPU that need not be here: sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100a, "
      "sm_120; nothing is timed or verified on it");
  command.add_option("--threads", o.threads, "threads; 0: every CPU that the process may use")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostThreads));
  command.add_option(
      "--shapes", o.shapes,
      "NAME:1x3x224x224, the shape to tune an input for; a range MIN..OPT..MAX is verified at its ends");
  command
      .add_option("--precision", o.precision,
                  "fp32 (as the model states), tf32, fp16, bf16; build: int8 (fp8: 8-bit floats), "
                  "quantized on the samples and kept where that is faster, or mixed, the fastest mixture "
                  "whose error on the samples stays within "
                  "--max-error")
      ->capture_default_str();
  command.add_option(
      "--precision-of", o.precision_of,
      "PATTERN=fp32|fp16|bf16 for nodes by name, output or operator; * and ? match any text; beside int8 "
      "and fp8 PATTERN=fp32 leaves nodes out of 8 bits");
  command.add_option(
      "--samples", o.samples,
      "a .npz file with an array for each input: real data to verify on and to measure ranges with");
  command.add_option("--mark", o.marks, "an inner tensor that becomes an output too");
  command.add_option("--timing-cache", o.timing_cache,
                     "file of measured times; default: ~/.cache/wootz/timings.txt; '': none");
  command.add_option(
      "--decisions", o.decisions,
      "a file of tactics by problem: those in it are taken, new ones are added; the same file gives the "
      "same engine");
  command.add_flag("--deterministic", o.deterministic,
                   "the same bits in every run and for every batch, checked; keeps vendor libraries out");
  command.add_option("--tactic", o.tactics,
                     "a tactic (* and ? match any text) that the regions it serves are left to; the build "
                     "fails where it is wrong");
  command.add_option("--reproducers", o.reproducers,
                     "folder for what shows a tactic with wrong results, which is thrown out; default: "
                     "~/.cache/wootz/wrong; '': none");
  command.add_option("--disable-pass", o.disabled_passes, "a graph pass or rule to leave out");
  command
      .add_option("--max-patches", o.max_patches, "stop the graph passes after so many changes; -1: never")
      ->check(CLI::Range(int64_t{-1}, INT64_MAX).description(""));
  command.add_option("--dump", o.dump, "folder for the graph's text before and after each pass");
  command.add_option(
      "--budget", o.budget,
      "60s: time for the race; regions that come later take the first tactic that passes its check, "
      "untimed. A number alone: the largest loss that --metric may print");
  command.add_flag("--no-tune", o.no_tune, "take first guesses instead of racing tactics");
  command.add_flag("--no-verify", o.no_verify, "do not hold the whole engine against the imported graph");
  command.add_flag("--no-vendor,--driver-only", o.no_vendor,
                   "keep vendor libraries (oneDNN, cuBLASLt, cuDNN) out of the race");
}

void add_verify_flags(CLI::App& command, Options& o) {
  command.add_option("--expect", o.expect, "a .npz file of inputs and expected outputs");
  command.add_flag("--table", o.table,
                   "with --expect: the table of regions and nodes too, on its first case");
  command.add_option("--of", o.of_model,
                     "of an engine: the .onnx model that it was built from, as its judge");
  command.add_option("--against", o.against,
                     "another device (cpu, cuda): the errors of an engine built for it stand beside");
  command.add_flag("--all", o.all, "every region and node instead of those with the largest errors");
}

struct Command {
  const char *name, *doc;
  int (*run)(const Options&);
};

const Command kCommands[] = {
    {"build", "compile an ONNX model into an engine", wootz::cli::run_build},
    {"run", "run an engine or model on arrays from a .npz file", wootz::cli::run_run},
    {"bench", "measure latency, throughput and each step", wootz::cli::run_bench},
    {"inspect", "show an engine's inputs, outputs and facts, the tensors of a file, or what a cache holds",
     wootz::cli::run_inspect},
    {"explain", "show where every node went, which kernel won, and what it cost", wootz::cli::run_explain},
    {"verify", "hold an engine against expected values or the reference", wootz::cli::run_verify},
    {"compare", "compare the results of two engines, models or runtimes, tensor by tensor",
     wootz::cli::run_compare},
    {"diff", "show how two engines differ: tactics, times, memory, remarks", wootz::cli::run_diff},
    {"check", "list every problem of a model and every operator without a kernel, without building it",
     wootz::cli::run_check},
    {"reduce", "cut a model that fails down to the smallest one that still does", wootz::cli::run_reduce},
    {"tune", "race an engine's kernels again on this machine", wootz::cli::run_tune},
};

CLI::App* add_command(CLI::App& app, const Command& c, Options& o) {
  CLI::App* command = app.add_subcommand(c.name, c.doc);
  const bool compares = std::string(c.name) == "compare";
  command
      ->add_option(
          "model", o.model,
          compares ? "an .onnx model, a .wtz engine, an .npz of results, or one of reference:, onnxruntime:, "
                     "openvino:, torch: and a path"
          : std::string(c.name) == "inspect" ? "an .onnx model, a .wtz engine, arrays in an .npz or .npy, a "
                                               "timing cache, a file of decisions or the "
                                               "folder of compiled kernels"
                                             : "an .onnx model or a .wtz engine")
      ->required();
  if (compares || std::string(c.name) == "diff")
    command->add_option("other", o.other, "the other side, likewise")->required();
  if (compares)
    command->add_flag("--all", o.all, "compare inner tensors too and name the first that differs");
  add_build_flags(*command, o);
  command->add_flag("--json", o.json, "print JSON");
  const std::string name = c.name;
  if (name == "build" || name == "tune")
    command->add_option("-o,--output", o.output, "the engine file to write");
  if (name == "build") {
    command
        ->add_option("--max-error", o.max_error,
                     "--precision mixed: of an output's largest magnitude, on the samples")
        ->capture_default_str();
    command->add_option(
        "--metric", o.metric,
        "--precision mixed: a Python script that gets expected.npz and found.npz and prints a loss");
    command->add_option("--search-seconds", o.search_seconds,
                        "--precision mixed: no new trial after so long; 0: no limit");
    command->add_option(
        "--types", o.types,
        "--precision mixed: file for the types chosen and the reasons; default: ENGINE.types.json");
    command->add_flag(
        "--resume", o.resume,
        "--precision mixed: trials in the file of types, which is written after each, are not run again");
  }
  if (name == "reduce") {
    command->add_option("-o,--output", o.output, "the model to write");
    command
        ->add_option(
            "--check", o.check,
            "what failing is: wrong (a result out of its bound), error (the whole model's), slow (4 times "
            "what "
            "arithmetic and memory allow), or a command with {} for the model that exits other than with 0")
        ->capture_default_str();
    command->add_flag("--keep-weights", o.keep_weights, "the model's weights instead of random ones");
    command->add_option("--seconds", o.seconds, "seconds after which nothing more is tried")
        ->capture_default_str()
        ->check(between(0, kLongestBench));
  }
  if (name == "run" || name == "bench" || name == "compare")
    command->add_option("--inputs", o.inputs, "a .npz file with an array for each input");
  if (name == "run" || name == "bench")
    command
        ->add_option("--shadow", o.shadow,
                     "share of runs (0 to 1) of which two regions are computed once more by the references; "
                     "exit code 4 when one differs")
        ->check(between(0, 1));
  if (name != "build" && name != "reduce" && name != "check")
    command->add_flag("--no-self-test", o.no_self_test,
                      "load an engine without running a few of its regions first");
  if (name == "run") command->add_option("--outputs", o.outputs, "the .npz file to write");
  if (name == "run" || name == "verify")
    command->add_flag("--reference", o.reference, "run by the references instead of an engine (.onnx only)");
  if (name == "verify") add_verify_flags(*command, o);
  if (name == "verify" || name == "compare") {
    command
        ->add_option("--tolerance", o.tolerance,
                     "relative error allowed; 0: by type (1e-4 float32, 1e-2 float16)")
        ->check(between(0, 1));
  }
  if (name == "bench") {
    command->add_option("--duration", o.duration, "seconds to measure")
        ->capture_default_str()
        ->check(between(0, kLongestBench));
    command->add_option("--trace", o.trace,
                        "write what steps, threads and the GPU did in one run, for Perfetto");
    command->add_flag(
        "--profile", o.profile,
        "each step's FLOPs, bytes and share of the device's limit; on a GPU its kernels' own times and the "
        "copies, by CUPTI where it is");
    command->add_option("--iterations", o.iterations, "runs to measure instead of a duration")
        ->check(CLI::PositiveNumber);
  }
  if (name == "inspect")
    command->add_option(
        "--match", o.match,
        "tensors of these names (* stands for any characters), also of an .onnx model's or an engine's "
        "weights, which are shown instead; entries of a cache whose problem or tactic is called so");
  if (name == "explain") {
    command->add_option("--width", o.width, "columns; 0: the terminal's")->check(CLI::NonNegativeNumber);
    command->add_option("--html", o.html,
                        "write one self-contained page: time, rivals, roofline, graph, memory");
    command->add_option("--of", o.of_model,
                        "the .onnx model that the engine was made from: errors of nodes and outputs on --samples, "
                        "beside those of an engine in the model's own types");
    command->add_flag("--all", o.all, "with --of: every node instead of those with the largest errors");
  }
  return command;
}

std::string version_text() {
  std::string text = "wootz " WOOTZ_VERSION " (g++ " __VERSION__ ")";
  for (const std::string& line : wootz::describe_devices()) text += "\n" + line;
  return text;
}

/// Without a command there is nothing to do; a word that is none is named before CLI11 complains that one is
/// missing.
void check_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names = "exec, quantize, prune, doctor";
  for (const std::string_view own : {"exec", "quantize", "prune", "doctor"})
    if (argv[1] == own) return;
  for (const Command& c : kCommands) {
    if (std::string_view(argv[1]) == c.name) return;
    names += ", " + std::string(c.name);
  }
  throw wootz::Error(wootz::ErrorKind::kInvalidArgument,
                     "expected a command (" + names + "), found '" + argv[1] + "'");
}

int run(int argc, char** argv) {
  CLI::App app{
      "Wootz compiles a trained network (ONNX) into a fast engine, proves that it computes what the model "
      "says, and runs it.",
      "wootz"};
  wootz::cli::narrow_help(app);
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  Options options;
  std::vector<std::pair<CLI::App*, const Command*>> commands;
  for (const Command& c : kCommands) commands.emplace_back(add_command(app, c, options), &c);
  wootz::cli::QuantizeFlags quantize_flags;
  const CLI::App* quantize = wootz::cli::add_quantize(app, quantize_flags);
  wootz::cli::PruneFlags prune_flags;
  const CLI::App* prune = wootz::cli::add_prune(app, prune_flags);
  wootz::cli::DoctorFlags doctor_flags;
  const CLI::App* doctor = wootz::cli::add_doctor(app, doctor_flags);
  CLI::App* exec =
      app.add_subcommand("exec", "take trtexec's flags: build, measure, compare, export")->prefix_command();
  exec->set_help_flag();  // its own flags include --help
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  check_command(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  }
  int code = exec->parsed() ? wootz::cli::run_exec(exec->remaining()) : 0;
  if (doctor->parsed()) code = wootz::cli::run_doctor(doctor_flags);
  if (quantize->parsed()) code = wootz::cli::run_quantize(quantize_flags);
  if (prune->parsed()) code = wootz::cli::run_prune(prune_flags);
  for (const auto& [app_command, command] : commands)
    if (app_command->parsed()) code = command->run(options);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw wootz::Error(wootz::ErrorKind::kIo,
                       "cannot write to the standard output: " + std::string(std::strerror(errno)));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const wootz::Error& e) {
    std::fprintf(stderr, "wootz: %s: %s\n", std::string(wootz::error_kind_name(e.kind())).c_str(), e.what());
    return exit_code(e.kind());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "wootz: out of memory: the system gave no more; try smaller shapes or fewer threads\n");
    return exit_code(wootz::ErrorKind::kOutOfMemory);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wootz: internal error: %s; this is a bug in Wootz, please report it\n", e.what());
    return 70;
  }
}
