// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize/quantize_flags.h"

#include <CLI/CLI.hpp>

namespace wootz::cli {
namespace {

void add_range_flags(CLI::App& c, QuantizeOptions& o) {
  c.add_option("--method", o.method, "how ranges are chosen: max, percentile, entropy or mse")
      ->capture_default_str();
  c.add_option("--percentile", o.percentile, "share of the elements that `percentile` keeps inside")
      ->capture_default_str();
  c.add_flag("--signed", o.signed_activations,
             "activations as int8 around 0 instead of uint8 with a zero point");
  c.add_flag("--float8", o.float8,
             "MatMul and Gemm get 8-bit floats (E4M3) instead of integers (for Hopper GPUs)");
  c.add_flag("--bias-correction", o.bias_correction,
             "take the mean error of rounded weights out of the bias");
  c.add_flag("--equalize", o.equalize, "make the weight ranges of neighbouring convolutions alike first");
  c.add_option(
      "--balance", o.balance,
      "0 to 1: move outliers from activations behind LayerNormalization into the weights; 0.5 is a good "
      "start for transformers");
  c.add_flag("--dynamic", o.dynamic,
             "MatMul, Gemm and LSTM measure their inputs in every run; needs no samples");
  c.add_option("--weights", o.weights,
               "int8, int4 or fp8: the weights of MatMul and Gemm alone, which are read once a row; needs no "
               "samples");
  c.add_option("--block", o.block,
               "of --weights: elements along k that share a scale; 0: int4 32, others an output channel");
  c.add_flag("--sums", o.sums, "operands of residual sums get 8 bits too");
  c.add_option("--least-channels", o.least_channels,
               "convolutions of fewer input channels a group stay float32 (16 for GPUs)")
      ->capture_default_str();
  c.add_flag("--fused-sums", o.fused_sums,
             "the same, but the result of a convolution that nothing else reads stays float (for GPUs)");
  c.add_flag("--depthwise", o.depthwise, "convolutions of few channels a group get 8 bits too");
  c.add_option("--keep", o.keep,
               "pattern (name, output or operator; * and ? match) of nodes that stay float32");
  c.add_option("--max-samples", o.max_samples, "samples to measure at most")->capture_default_str();
  c.add_option("--report-samples", o.report_samples, "samples to measure the error on; 0: do not")
      ->capture_default_str();
  c.add_option("--threads", o.threads, "threads; 0: every CPU that the process may use")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

void add_picture_flags(CLI::App& c, QuantizeFlags& f) {
  c.add_option("--picture-size", f.size, "HEIGHTxWIDTH, where the model leaves them open");
  c.add_option("--picture-scale", f.pictures.scale, "factor of the values 0 to 255")->capture_default_str();
  c.add_option("--picture-mean", f.pictures.mean, "subtracted after that; one, or one a channel")
      ->delimiter(',');
  c.add_option("--picture-std", f.pictures.std, "divided by at last; one, or one a channel")->delimiter(',');
  c.add_flag("--picture-bgr", f.pictures.bgr, "blue first");
}

}  // namespace

CLI::App* add_quantize(CLI::App& app, QuantizeFlags& f) {
  CLI::App* c =
      app.add_subcommand("quantize", "make an ONNX model with 8-bit weights and activations, from samples");
  c->add_option("model", f.model, "an .onnx model of float32")->required();
  c->add_option("-o,--output", f.output, "the .onnx to write; default: MODEL.int8.onnx");
  c->add_option(
      "--samples", f.samples,
      "real inputs: .npz with an array for each input, .npy for an only input (whole samples, or a stack "
      "of them), a folder of such files, or a folder of pictures");
  c->add_option("--calibration", f.calibration,
                "a file of ranges that an earlier call wrote, instead of samples");
  c->add_flag("--per-tensor", f.per_tensor,
              "one scale for a whole weight instead of one for each output channel");
  add_range_flags(*c, f.options);
  add_picture_flags(*c, f);
  c->add_flag("--json", f.json, "print JSON");
  return c;
}

}  // namespace wootz::cli
