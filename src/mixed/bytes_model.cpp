// SPDX-License-Identifier: Apache-2.0
#include "mixed/bytes_model.h"

#include <unistd.h>

#include <wootz/quantize.h>

#include "base/error.h"

namespace wootz {
namespace {

constexpr int64_t kGpuChannels = 16;  // that the 8-bit kernels of GPUs take

bool is_on_gpu(const BuildOptions& options) { return options.device.starts_with("cuda"); }

}  // namespace

std::string other_precision(const BuildOptions& options) { return is_on_gpu(options) ? "fp16" : "fp32"; }

std::vector<std::string> kept_patterns(const std::vector<std::string>& overrides) {
  std::vector<std::string> patterns;
  for (const std::string& o : overrides) {
    const size_t at = o.rfind('=');
    if (at == std::string::npos || o.substr(at + 1) != "fp32")
      throw Error(ErrorKind::kInvalidArgument,
                  "precision_of: expected PATTERN=fp32 beside 8 bits, found '" + o + "'");
    patterns.push_back(o.substr(0, at));
  }
  return patterns;
}

BytesModel::BytesModel(const std::string& onnx_path, const BuildOptions& options, bool float8,
                       const std::vector<std::string>& keep) {
  std::string pattern = (std::filesystem::temp_directory_path() / "wootz_int8_XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw Error(ErrorKind::kIo, "int8: cannot make a folder like '" + pattern + "'");
  folder_ = pattern;
  QuantizeOptions q;
  q.float8 = float8;
  q.fused_sums = is_on_gpu(options) && !float8;
  q.least_channels = is_on_gpu(options) ? kGpuChannels : 1;
  q.keep = keep;
  q.report_samples = 0;
  q.threads = options.threads;
  const auto source = [&](size_t i, NamedData& sample) {
    if (i >= options.samples.size()) return false;
    sample = options.samples[i];
    return true;
  };
  try {
    for (const QuantizedNode& n : quantize(onnx_path, path(), source, q).nodes)
      if (n.quantized) nodes_.push_back(n.name);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

BytesModel::~BytesModel() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace wootz
