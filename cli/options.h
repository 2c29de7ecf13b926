// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz::cli {

/// The flags of every command; each command reads its own.
struct Options {
  std::string model;            // .onnx or .wtz
  std::string output;           // -o
  std::string inputs, outputs;  // .npz
  std::string expect;           // .npz of golden values
  std::string device = "cpu";
  std::string target;  // sm_90a: instead of a device
  int threads = 0;
  std::vector<std::string> shapes;  // NAME:1x3x224x224
  std::vector<std::string> marks;
  std::vector<std::string> tactics;  // patterns
  std::string decisions;             // the file
  bool deterministic = false;
  std::string reproducers = "default";
  std::vector<std::string> disabled_passes;
  std::string precision = "fp32";
  std::vector<std::string> precision_of;  // PATTERN=fp16
  std::vector<std::string> samples;       // .npz files
  std::string timing_cache = "default";
  std::string dump;
  int64_t max_patches = -1;
  bool no_tune = false, no_verify = false, no_vendor = false, json = false, reference = false;
  double tolerance = 0;
  double duration = 3;                          // bench, seconds
  int iterations = 0;                           // bench; 0: by duration
  int width = 0;                                // explain; 0: the terminal's
  std::string other;                            // compare; the second side
  bool all = false;                             // compare, verify; every tensor
  bool no_self_test = false;                    // engines
  bool table = false;                           // verify; regions and nodes beside --expect too
  std::string of_model, against;                // verify; of an engine; another device
  double shadow = 0;                            // run, bench; share of runs looked at
  std::string html;                             // explain; the page to write
  std::vector<std::string> budget;              // 60s of racing, 0.5 of --metric's loss
  double max_error = 1e-2, search_seconds = 0;  // build --precision mixed
  std::string metric, types;
  bool resume = false;          // build --precision mixed
  std::string match;            // inspect; of names
  std::string check = "wrong";  // reduce; what failing is
  bool keep_weights = false;    // reduce
  double seconds = 600;         // reduce; no new tries after that
  std::string trace;            // bench; the file to write
  bool profile = false;         // bench
};

BuildOptions build_options(const Options& options);
/// What --budget allows. Throws kInvalidArgument with the forms expected.
struct Budget {
  double seconds = 0;  // of the race; 0: no limit
  double loss = 0;     // by --metric
};
Budget parse_budget(const std::vector<std::string>& texts);
enum class ShapeEnd : uint8_t { kLeast, kTuned, kMost };
/// Parses NAME:1x3x224x224, or one end of ranges MIN..OPT..MAX. Throws kInvalidArgument with the form
/// expected.
std::map<std::string, Dims> parse_shapes(const std::vector<std::string>& texts,
                                         ShapeEnd end = ShapeEnd::kTuned);
/// Whether MODEL names an engine: by its ending, or by its first bytes. Everything else is taken for an ONNX
/// model.
bool is_engine(const std::string& path);
/// An engine from .wtz, or built here from .onnx. Throws kInvalidArgument when a flag asks something of a
/// build and there is none.
Engine open_model(const Options& options);
/// `--precision mixed`: searches, prints the trials, writes the file of types.
Engine search_types(const Options& options);
/// `--precision int8`: quantizes on the samples and says which engine was kept.
Engine build_in_int8(const Options& options);
/// The same for a command that makes up inputs: --shapes then says theirs.
Engine open_for_inputs(const Options& options);

/// Switches shadow checks on where --shadow asks for them, and prints what they found: the exit code.
void start_shadow(const Engine& engine, const Options& options);
int report_shadow(const Engine& engine, const Options& options);

/// Random inputs at the asked or tuned shapes.
NamedData random_inputs(const Engine& engine, const Options& options);

int run_build(const Options& options);
int run_run(const Options& options);
int run_bench(const Options& options);
int run_inspect(const Options& options);
int run_explain(const Options& options);
int run_verify(const Options& options);
int run_compare(const Options& options);
int run_diff(const Options& options);
int run_tune(const Options& options);
int run_reduce(const Options& options);
int run_check(const Options& options);

}  // namespace wootz::cli
