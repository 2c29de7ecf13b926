// SPDX-License-Identifier: Apache-2.0
// `--precision int8`: quantized on the samples, kept where it is faster.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <wootz/mixed.h>
#include <wootz/quantize.h>

#include "base/error.h"

namespace wootz {
namespace {

constexpr double kBytesGain = 0.98;  // of the other engine's time: less is not worth 8 bits
constexpr int kRaceRuns = 9;
constexpr int64_t kGpuChannels = 16;  // that the 8-bit kernels of GPUs take

/// A folder of its own, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wootz_int8_XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw Error(ErrorKind::kIo, "int8: cannot make a folder like '" + pattern + "'");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// In turn, so that a busy machine slows both.
void time_both(const BuildOptions& options, const Engine& plain, Int8Result& result) {
  using Clock = std::chrono::steady_clock;
  Context contexts[2] = {result.engine.context(), plain.context()};
  std::vector<double> ms[2];
  for (int i = 0; i < kRaceRuns; ++i)
    for (int k = 0; k < 2; ++k) {
      const auto from = Clock::now();
      contexts[k].run(options.samples[0]);
      ms[k].push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
    }
  result.int8_ms = median(ms[0]), result.other_ms = median(ms[1]);
}

std::string milliseconds(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", x);
  return text;
}

}  // namespace

Int8Result build_int8(const std::string& onnx_path, const BuildOptions& options) {
  const bool floats = options.precision == "fp8";
  const std::string name = floats ? "fp8" : "int8";
  if (options.samples.empty())
    throw Error(
        ErrorKind::kInvalidArgument,
        name +
            ": expected samples (--samples FILE.npz) to measure ranges on, found none; a model that has "
            "QuantizeLinear already is built without --precision " +
            name);
  const bool on_gpu = options.device.starts_with("cuda");
  if (floats && !on_gpu)
    throw Error(ErrorKind::kInvalidArgument,
                "fp8: expected a GPU of compute capability 9.0 (--device cuda), found '" + options.device +
                    "'; CPUs have kernels of 8-bit integers (int8)");
  const ScratchFolder folder;
  const std::string bytes = folder.file("int8.onnx");
  QuantizeOptions q;
  q.float8 = floats;
  q.fused_sums = on_gpu && !floats;
  q.least_channels = on_gpu ? kGpuChannels : 1;
  q.report_samples = 0;
  q.threads = options.threads;
  quantize(
      onnx_path, bytes,
      [&](size_t i, NamedData& sample) {
        if (i >= options.samples.size()) return false;
        sample = options.samples[i];
        return true;
      },
      q);
  BuildOptions b = options;
  b.precision = on_gpu ? "fp16" : "fp32";
  Int8Result result{build(bytes, b), true, 0, 0, b.precision, ""};
  if (options.device.find("sm_") != std::string::npos || !options.tune) {
    result.reason = name + " as asked for: nothing was timed";
    return result;
  }
  const Engine plain = build(onnx_path, b);
  time_both(options, plain, result);
  result.is_int8 = result.int8_ms < kBytesGain * result.other_ms;
  result.reason = std::string(result.is_int8 ? name : b.precision) + ": " + name + " took " +
                  milliseconds(result.int8_ms) + ", " + b.precision + " " + milliseconds(result.other_ms);
  if (!result.is_int8) result.engine = plain;
  return result;
}

}  // namespace wootz
