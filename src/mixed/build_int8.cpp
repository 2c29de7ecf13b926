// SPDX-License-Identifier: Apache-2.0
// `--precision int8`: quantized on the samples, kept where it is faster.
#include <cstdio>
#include <vector>

#include <wootz/mixed.h>

#include "base/error.h"
#include "mixed/bytes_model.h"
#include "mixed/time_in_turn.h"

namespace wootz {
namespace {

constexpr double kBytesGain = 0.98;  // of the other engine's time: less is not worth 8 bits

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
  Context bytes_context = result.engine.context(), plain_context = plain.context();
  const std::vector<double> ms = time_in_turn({&bytes_context, &plain_context}, options.samples[0]);
  result.int8_ms = ms[0], result.other_ms = ms[1];
  result.is_int8 = result.int8_ms < kBytesGain * result.other_ms;
  result.reason = std::string(result.is_int8 ? name : b.precision) + ": " + name + " took " +
                  milliseconds(result.int8_ms) + ", " + b.precision + " " + milliseconds(result.other_ms);
  if (!result.is_int8) result.engine = plain;
  return result;
}

}  // namespace wootz
