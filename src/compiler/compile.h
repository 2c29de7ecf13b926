// SPDX-License-Identifier: Apache-2.0
// From an imported model to a verified engine; compile() is the whole journey on one page.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine_data.h"
#include "import/onnx/import.h"
#include "passes/precision/precision_options.h"

namespace wootz {

/// A report from a running build. Return false to cancel.
struct Progress {
  std::string stage;         // "simplify", "race", "verify"
  std::string detail;        // e.g. the region that is raced
  double fraction = 0;       // of the whole build, 0..1
  double seconds_left = -1;  // -1: not known yet
};
using ProgressCallback = std::function<bool(const Progress&)>;

struct CompileOptions {
  std::string model_name;  // for people: the file's name
  std::string backend = "cpu";
  int threads = 0;                     // 0: all CPUs the process may use
  std::map<std::string, Dims> shapes;  // tuned shapes by input name; others are guessed and reported
  bool tune = true;                    // false: first guesses, no timing
  double race_seconds = 0;             // 0: no limit
  size_t most_bytes = 0;  // of activations, inputs and outputs at the shapes to tune for; 0: what there is
  bool verify = true;     // the whole engine against the imported graph
  bool allow_vendor_libraries = true;  // oneDNN
  std::string timing_cache;            // path; empty: none
  std::string decisions;               // path of tuning/decisions.h; empty: none
  bool deterministic = false;          // the same bits twice and for every batch, or kVerification
  PrecisionOptions precision;          // `ranges` are measured here
  std::vector<std::string> tactics;    // patterns: where one of these serves a region, no other races
  std::string reproducers;             // folder for what tactics with wrong results were run on; empty: none
  std::vector<std::string> marks;      // inner values that become outputs too
  std::vector<std::string> disabled_passes;
  int64_t max_patches = -1;
  std::string dump_folder;
  std::vector<std::vector<Datum>> samples;  // inputs to verify on, besides random ones
  /// Input dims to verify at, besides the tuned ones; empty: a smaller shape is chosen where there is one.
  std::vector<std::map<std::string, Dims>> verify_shapes;
  ProgressCallback progress;
};

/// Takes the model's graph. Throws Error: kInvalidModel, kUnsupported, kInvalidArgument (shapes, marks),
/// kVerification, kCancelled.
std::shared_ptr<EngineData> compile(ImportedModel model, const CompileOptions& options);

}  // namespace wootz
