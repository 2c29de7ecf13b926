// SPDX-License-Identifier: Apache-2.0
// The fastest mixture of number types whose error on the user's samples stays within a budget.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz {

struct MixedOptions {
  /// Device, threads, shapes, samples (at least one), progress. `precision` is what is searched for.
  BuildOptions build;
  double max_error = 1e-2;  // of an output's largest magnitude on the samples, against float32
  /// Judges instead: the loss of the found outputs of a sample, given those of float32; at most `max_error`.
  std::function<double(const NamedData& expected, const NamedData& found)> metric;
  int groups = 8;      // parts of the network that get types of their own
  double seconds = 0;  // no new trial after so long; 0: no limit
};

/// One engine that was built and measured.
struct MixedTrial {
  std::string precision;               // "fp32", "bf16", "fp16"
  std::vector<std::string> overrides;  // PATTERN=fp32: what stays
  std::string what;                    // in words
  double error = 0, time_ms = 0;       // NaN: it could not be built
  std::string problem;                 // why
  bool on_front = false, chosen = false;
};

struct MixedResult {
  Engine engine;
  std::vector<MixedTrial> trials;
  std::string reason;  // of the choice
  std::string types;     // JSON: the types chosen, the reasons, every trial
};

/// Builds float32, then each 16-bit type as a whole; where its error is over the budget, a part of the
/// network at a time in it, and then as many parts as the budget allows, least error first. Deterministic but
/// for the measured times. Throws Error: kInvalidArgument without samples, kVerification where float32 itself
/// misses the budget (with the best error reached).
WOOTZ_API MixedResult build_mixed(const std::string& onnx_path, const MixedOptions& options);

}  // namespace wootz
