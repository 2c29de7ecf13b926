// SPDX-License-Identifier: Apache-2.0
// What lower precision would do to a model, found on samples of its inputs.
#pragma once
#include <string>
#include <vector>

#include <wootz/quantize.h>

namespace wootz {

struct DoctorOptions {
  std::string precision = "fp16";  // that the model is to run in: "fp16", "bf16" or "int8"
  size_t max_samples = 64;
  int threads = 0;
  std::function<bool(const BuildProgress&)> progress;  // return false to cancel
};

struct Symptom {
  std::string tensor, node, op;  // the tensor, and the node that computes it (empty: an input or a constant)
  /// "not finite", "overflow", "underflow", "saturation", "dead channels" or "outliers".
  std::string kind;
  std::string detail;  // with the numbers
  std::string advice;
};

struct Diagnosis {
  std::vector<Symptom> symptoms;
  /// PATTERN=TYPE for BuildOptions::precision_of, or patterns for QuantizeOptions::keep: the nodes that
  /// should not run in the asked precision, and no others.
  std::vector<std::string> overrides;
  size_t samples = 0;
};

/// Runs the model in float32 on the samples and looks at every float32 tensor. Throws as quantize().
WOOTZ_API Diagnosis diagnose(const std::string& onnx_path, const SampleSource& samples,
                             const DoctorOptions& options = {});

}  // namespace wootz
