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
  /// The types of an earlier search of the same model, samples and device (MixedResult::types, or what
  /// `checkpoint` got): its trials are not run again.
  std::string resume;
  std::function<void(const std::string& types)> checkpoint;  // after every trial: all of them so far
};

/// One engine that was built and measured.
struct MixedTrial {
  std::string precision;               // "fp32", "bf16", "fp16", "int8" (quantized on the samples)
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
  std::string types;   // JSON: the types chosen, the reasons, every trial
};

/// Builds float32, then each 16-bit type and int8 as a whole; where its error is over the budget, a part of
/// the network at a time in it, and then as many parts as the budget allows, least error first. Deterministic
/// but for the measured times. Throws Error: kInvalidArgument without samples, kVerification where float32
/// itself misses the budget (with the best error reached).
WOOTZ_API MixedResult build_mixed(const std::string& onnx_path, const MixedOptions& options);

/// The engine of a model that was quantized for the build, or of the model itself where that is faster.
struct Int8Result {
  Engine engine;
  bool is_int8 = false;
  double int8_ms = 0, other_ms = 0;  // of a run on the first sample, in turn; 0: not timed
  std::string other;                 // what is not in 8 bits: "fp16" on GPUs, "fp32" on CPUs
  std::string reason;                // of the choice, with both times
};

/// Quantizes the float32 model on options.samples (wootz/quantize.h; on GPUs residual sums too, convolutions
/// of fewer than 16 input channels not), builds it and the model as it is in `other`, and keeps the faster
/// one; untuned builds and builds for a GPU that is not here are not timed and stay int8. options.precision
/// PATTERN=fp32 in options.precision_of leaves nodes out of 8 bits;
/// "fp8" asks for floats of 8 bits (E4M3, MatMul and Gemm, GPUs of compute capability 9.0) in place of
/// integers. Throws Error: kInvalidArgument without samples or for a model that is quantized already.
WOOTZ_API Int8Result build_int8(const std::string& onnx_path, const BuildOptions& options);

}  // namespace wootz
