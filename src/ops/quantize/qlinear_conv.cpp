// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/conv.h"
#include "ops/quantize/centered.h"
#include "ops/quantize/quantize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_qlinear_conv {
namespace {

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B.
void infer(InferContext& c) {
  if (!c.has_rank(0) || !c.has_rank(3)) return c.set_output(0, c.dtype(7));
  c.set_output(0, c.dtype(7), infer_conv_shape(c, 0, 3));
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Tensor &x = c.input(0), &w = c.input(3);
  const Window window = conv_window(a, x.dims(), w.dims());
  const size_t maps = static_cast<size_t>(w.dims()[0]);
  for (size_t i : {1, 2, 6, 7})
    c.check(c.input(i).size() == 1, "input " + std::to_string(i) + ": expected one element, found " +
                                        std::to_string(c.input(i).size()));
  const std::vector<double> w_scale = c.input(4).to_doubles();
  c.check(w_scale.size() == 1 || w_scale.size() == maps, "w_scale: expected 1 or " + std::to_string(maps) +
                                                             " elements, found " +
                                                             std::to_string(w_scale.size()));
  const std::vector<double> bias = c.has_input(8) ? c.input(8).to_doubles() : std::vector<double>(maps, 0);
  c.check(bias.size() == maps,
          "B: expected [" + std::to_string(maps) + "], found " + std::to_string(bias.size()) + " elements");
  std::vector<double> y =
      convolve(window, a.group, centered_matrix(x, &c.input(2), QuantizeSide::kRows, "x_zero_point"),
               x.dims(), centered_weights(w, &c.input(5)), w.dims(), bias.data());
  Dims dims{x.dims()[0], w.dims()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  const double factor = load_double(c.input(1), 0) / load_double(c.input(6), 0),
               zero = load_double(c.input(7), 0);
  Tensor& out = c.output(0, c.input(7).dtype(), dims);
  const auto [low, high] = integer_range(out.dtype());
  const size_t pixels = static_cast<size_t>(element_count(window.output));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = std::clamp(
        std::nearbyint(y[i] * factor * w_scale[w_scale.size() == 1 ? 0 : i / pixels % maps]) + zero, low,
        high);
  store_doubles(y, out);
}

std::vector<Sample> samples() {
  const auto u8 = [](Dims d, int seed) { return sample_values(DType::kUint8, std::move(d), 0, 255, seed); };
  const auto i8 = [](Dims d, int seed) { return sample_values(DType::kInt8, std::move(d), -128, 127, seed); };
  const auto scale = [](Dims d, int seed) {
    return sample_values(DType::kFloat32, std::move(d), 0.01, 0.02, seed);
  };
  const Attributes same = sample_attributes({{"pads", ints_attribute({1, 1, 1, 1})}});
  std::vector<Sample> s;
  s.push_back({"uint8",
               {u8({1, 2, 4, 4}, 1), scale({}, 2), u8({}, 3), u8({3, 2, 3, 3}, 4), scale({}, 5), u8({}, 6),
                scale({}, 7), u8({}, 8)},
               same});
  s.push_back({"per map, bias",
               {u8({1, 2, 4, 4}, 1), scale({}, 2), u8({}, 3), i8({3, 2, 3, 3}, 4), scale({3}, 5), i8({3}, 6),
                scale({}, 7), u8({}, 8), sample_values(DType::kInt32, {3}, -999, 999)},
               same});
  s.push_back({"int8, groups",
               {i8({1, 4, 4, 4}, 1), scale({}, 2), i8({}, 3), i8({4, 2, 2, 2}, 4), scale({}, 5), i8({}, 6),
                scale({}, 7), i8({}, 8)},
               sample_attributes({{"group", int_attribute(2)}})});
  s.push_back({"empty batch",
               {u8({0, 2, 4, 4}, 1), scale({}, 2), u8({}, 3), u8({3, 2, 3, 3}, 4), scale({}, 5), u8({}, 6),
                scale({}, 7), u8({}, 8)},
               same});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "QLinearConv";
  d.doc =
      "Convolution of quantized data and weights, quantized again: y = saturate(round((sum (x-x0)(w-w0) + b) "
      "* "
      "x_scale*w_scale/y_scale) + y0) (ONNX QLinearConv-10).";
  d.since = 10;
  d.min_inputs = 8;
  d.max_inputs = 9;
  d.attributes = attribute_specs<ConvAttributes>();
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_qlinear_conv
