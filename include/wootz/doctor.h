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

/// A change of the model that brings a tensor into the range of the asked precision.
struct Mending {
  /// "scale": constant weights in front of the tensor are multiplied by `factor`, a power of two, and those
  /// behind it by its inverse: the results stay the same. "clip": what lies outside of [low, high] becomes
  /// these.
  std::string kind;
  std::string tensor;
  double factor = 1, low = 0, high = 0;
  std::vector<std::string> nodes;  // scale: whose weights change; clip: that read the clipped tensor
};

struct Diagnosis {
  std::vector<Symptom> symptoms;
  std::vector<Mending> mendings;
  /// PATTERN=TYPE for BuildOptions::precision_of, or patterns for QuantizeOptions::keep: the nodes that
  /// should not run in the asked precision, and no others. Tensors of `mendings` need none.
  std::vector<std::string> overrides;
  size_t samples = 0;
};

/// Runs the model in float32 on the samples and looks at every float32 tensor. Throws as quantize().
WOOTZ_API Diagnosis diagnose(const std::string& onnx_path, const SampleSource& samples,
                             const DoctorOptions& options = {});

/// Writes the model with the changes. Throws Error: kInvalidArgument where a tensor or its neighbours are not
/// those of a diagnosis of this model, and what importing and writing throw.
WOOTZ_API void mend(const std::string& onnx_path, const std::string& output_path,
                    const std::vector<Mending>& mendings);

}  // namespace wootz
