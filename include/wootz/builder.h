// SPDX-License-Identifier: Apache-2.0
// From an ONNX model to an engine.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <wootz/engine.h>

namespace wootz {

/// A report from a running build.
struct BuildProgress {
  std::string stage, detail;
  double fraction = 0;       // of the whole build
  double seconds_left = -1;  // -1: not known yet
};

struct BuildOptions {
  std::string device = "cpu";
  int threads = 0;  // 0: every CPU that the process may use
  std::map<std::string, Dims>
      shapes;        // input shapes to tune for; others are guessed, and the guess is reported
  bool tune = true;  // false: no timing, first guesses
  /// Seconds for the race, compiling of kernels included; regions that come later take the first tactic that
  /// passes its check, which a remark counts. 0: no limit.
  double race_seconds = 0;
  bool verify = true;            // hold the engine against the imported graph
  bool vendor_libraries = true;  // let oneDNN race
  /// "fp32": the types that the model states. "tf32", "fp16", "bf16": float32 values get that type where it
  /// is safe; what stays float32, and why, is among the engine's remarks (docs/precision.md).
  std::string precision = "fp32";
  /// "PATTERN=fp32|fp16|bf16" for nodes by name, output or operator; `*` and `?` match any text.
  std::vector<std::string> precision_of;
  /// The same bits in every run and for every batch, checked on the finished engine (kVerification); no
  /// vendor library.
  bool deterministic = false;
  /// A file of decisions: tactics that stand there are taken, new ones are added. The same model and a
  /// complete file give the same engine (fact content_hash). Empty: none.
  std::string decisions;
  std::string timing_cache = "default";  // a path, "default" (docs/cli.md) or "" for none
  /// Tactics by id, * and ? match any text: a region that one of them serves is left to them. A wrong result
  /// of one then fails the build (kVerification) instead of putting it out of the race.
  std::vector<std::string> tactics;
  /// Where the region, inputs and command are kept of a tactic that gave a wrong result and was thrown out: a
  /// folder, "default" (docs/cli.md) or "" for nowhere.
  std::string reproducers = "default";
  std::vector<std::string> marks;  // inner tensors that become outputs too; * and ? match
  std::vector<std::string> disabled_passes;
  int64_t max_patches = -1;        // stop the graph passes after so many changes; -1: no limit
  std::string dump_folder;         // graph text before and after each pass
  std::vector<NamedData> samples;  // inputs to verify on, besides random ones
  /// Input shapes to verify at, besides those tuned for; none: a smaller one is chosen where the model has
  /// any.
  std::vector<std::map<std::string, Dims>> verify_shapes;
  std::function<bool(const BuildProgress&)> progress;  // return false to cancel
};

/// Throws Error: kInvalidModel and kUnsupported list everything wrong with the model; kInvalidArgument;
/// kVerification; kCancelled; kIo.
WOOTZ_API Engine build(const std::string& onnx_path, const BuildOptions& options = {});
/// A model in memory; external data is looked for in `folder`.
WOOTZ_API Engine build(std::span<const std::byte> onnx_bytes, const std::string& folder,
                       const BuildOptions& options = {});

/// Races every region of an engine again on this machine, at the shapes it was tuned for.
WOOTZ_API Engine tune(const Engine& engine, const BuildOptions& options = {});

/// Runs the model by the references alone, node by node: the judge of every engine.
WOOTZ_API NamedData run_reference(const std::string& onnx_path, const NamedData& inputs,
                                  const std::vector<std::string>& marks = {});

/// The names of all tensors that the model's main graph computes, in an order in which they can be computed.
WOOTZ_API std::vector<std::string> tensor_names(const std::string& onnx_path);

/// How far outputs are from what was expected.
struct OutputComparison {
  std::string output;
  double max_abs = 0;
  double relative = 0;  // max_abs over the output's largest magnitude
  double bound = 0;
  bool passed = false;
  std::string
      mismatch;  // expected against found, where no values could be compared: another type, other dims
  double sqnr_db =
      0;  // power of the expected signal over that of the difference; infinite when they are equal
  double cosine = 0;  // of the angle between the two as vectors; NaN for what is not a float tensor
};
/// Compares by name; integers, bools and strings must be equal. `bound` 0: by type (1e-4 for float32, 1e-2
/// for float16).
WOOTZ_API std::vector<OutputComparison> compare(const NamedData& expected, const NamedData& found,
                                                double bound = 0);

}  // namespace wootz
