// SPDX-License-Identifier: Apache-2.0
// `--precision int8`: quantized on the samples, kept where it is faster.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <wootz/mixed.h>

#include "base/error.h"
#include "mixed/bytes_model.h"

namespace wootz {
namespace {

constexpr double kBytesGain = 0.98;  // of the other engine's time: less is not worth 8 bits
constexpr int kRaceRuns = 9;

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
  const BytesModel bytes(onnx_path, options, floats, kept_patterns(options.precision_of));
  BuildOptions b = options;
  b.precision = other_precision(options);
  b.precision_of.clear();  // PATTERN=fp32 keeps nodes out of 8 bits
  Int8Result result{build(bytes.path(), b), true, 0, 0, b.precision, ""};
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
