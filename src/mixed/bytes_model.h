// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz {

/// A model quantized on a build's samples, as a file that is gone with the object.
class BytesModel {
 public:
  /// `keep`: patterns of nodes that stay float. The options are those that the device's kernels want:
  /// fused residual sums and 16 input channels at least on GPUs. Throws as quantize().
  BytesModel(const std::string& onnx_path, const BuildOptions& options, bool float8,
             const std::vector<std::string>& keep);
  ~BytesModel();
  BytesModel(const BytesModel&) = delete;
  BytesModel& operator=(const BytesModel&) = delete;

  std::string path() const { return (folder_ / "quantized.onnx").string(); }
  const std::vector<std::string>& nodes() const { return nodes_; }  // that have 8 bits, by name

 private:
  std::filesystem::path folder_;
  std::vector<std::string> nodes_;
};

/// What is not in 8 bits there: "fp16" on GPUs, "fp32" on CPUs.
std::string other_precision(const BuildOptions& options);

/// Of overrides PATTERN=fp32 the patterns; throws kInvalidArgument for other types.
std::vector<std::string> kept_patterns(const std::vector<std::string>& overrides);

}  // namespace wootz
