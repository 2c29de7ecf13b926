// SPDX-License-Identifier: Apache-2.0
// Post-training quantization: from an ONNX model and samples of its inputs to an ONNX model with
// QuantizeLinear and DequantizeLinear nodes, which any runtime executes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz {

/// Gives sample `index`, counted from 0; false where there are no more. Methods that look twice call again
/// from 0.
using SampleSource = std::function<bool(size_t index, NamedData& sample)>;

struct QuantizeOptions {
  /// How an activation's range is chosen from its histogram: "max", "percentile", "entropy" or "mse".
  std::string method = "mse";
  double percentile = 99.99;        // of the elements that "percentile" keeps inside
  bool per_channel = true;          // a scale for each output channel of weights
  bool signed_activations = false;  // int8 around zero instead of uint8 with a zero point
  bool float8 = false;              // float8e4m3fn instead of integers: MatMul and Gemm, for Hopper GPUs
  bool bias_correction = false;     // takes the mean error of rounded weights out of the bias
  bool equalize = false;            // cross-layer equalization of convolutions before anything is measured
  double balance = 0;               // 0: off; (0, 1]: share of activations' outliers that goes into weights
  bool dynamic = false;             // MatMul, Gemm and LSTM measure their inputs in every run; no samples
  /// "int8", "int4" or "fp8": the weights of MatMul and Gemm alone, activations stay float32; no samples
  /// needed.
  std::string weights;
  int64_t block = 0;  // of such weights, along k; 0: int4 32, others a scale an output channel
  bool sums = false;  // both operands of a residual sum get 8 bits too
  /// Of a residual sum only the operand that no kernel adds on its way: one of two convolutions, none where
  /// the other comes in 8 bits already. For GPUs.
  bool fused_sums = false;
  bool depthwise = false;         // convolutions of one channel a group as well
  int64_t least_channels = 1;     // of a group, below which convolutions stay float32
  std::vector<std::string> keep;  // patterns (name, output or operator; * and ?) that stay float32
  std::string calibration;        // text of a calibration file; instead of samples
  size_t max_samples = 512;       // of the source
  size_t report_samples = 4;      // that both models run on to measure the error; 0: none
  int threads = 0;                // 0: every CPU that the process may use
  std::function<bool(const BuildProgress&)> progress;  // return false to cancel
};

struct QuantizedNode {
  std::string name, op;
  bool quantized = false;
  std::string reason;  // why not
  /// On the first sample, against float32: its own rounding alone, and with what it inherits. NaN: not
  /// measured.
  double own_sqnr_db = 0, sqnr_db = 0;
};

struct QuantizedOutput {
  std::string name;
  double max_abs = 0, relative = 0, sqnr_db = 0, cosine = 0;
  double top1 = 0;  // share of rows with the same largest element; NaN where rows are no classes
};

struct QuantizeReport {
  std::string calibration;  // JSON: the range of each activation; can be edited and used again
  std::vector<QuantizedNode> nodes;
  std::vector<QuantizedOutput> outputs;
  std::vector<std::string> notes;
  size_t samples = 0;
};

/// Reads `onnx_path`, writes `output_path`. Throws Error: kInvalidArgument (an option, no samples, samples of
/// wrong names, shapes or types, NaN in them, a model that is quantized already), kInvalidModel, kIo,
/// kCancelled.
WOOTZ_API QuantizeReport quantize(const std::string& onnx_path, const std::string& output_path,
                                  const SampleSource& samples, const QuantizeOptions& options = {});

/// How pictures become inputs: scaled to the input's height and width, value * scale, then (value - mean) /
/// std.
struct PictureOptions {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0}, std = {1};  // one, or one a channel
  bool bgr = false;
  int64_t height = 224, width = 224;  // where the model leaves them open
};

/// The pictures of a folder, in the order of their names, for the model's only input, float32 or uint8 of
/// rank 4 with 1 or 3 channels in front or behind. Throws kInvalidArgument, kIo.
WOOTZ_API SampleSource picture_samples(const std::string& folder, const std::string& onnx_path,
                                       const PictureOptions& options = {});

}  // namespace wootz
