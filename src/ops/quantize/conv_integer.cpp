// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/conv.h"
#include "ops/quantize/centered.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_conv_integer {
namespace {

void infer(InferContext& c) {
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, DType::kInt32);
  c.set_output(0, DType::kInt32, infer_conv_shape(c, 0, 1));
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_window(a, x.dims(), w.dims());
  if (c.has_input(2))
    c.check(c.input(2).size() == 1,
            "x_zero_point: expected one element, found " + std::to_string(c.input(2).size()));
  // Padding holds the zero point, that is 0 once it is subtracted.
  const std::vector<double> data =
      centered_matrix(x, c.has_input(2) ? &c.input(2) : nullptr, QuantizeSide::kRows, "x_zero_point");
  const std::vector<double> weights = centered_weights(w, c.has_input(3) ? &c.input(3) : nullptr);
  Dims dims{x.dims()[0], w.dims()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  store_int32(convolve(window, a.group, data, x.dims(), weights, w.dims(), nullptr),
              c.output(0, DType::kInt32, dims));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_window(a, x.dims(), w.dims());
  const double x_zero = c.has_input(2) ? load_double(c.input(2), 0) : 0;
  const std::vector<double> weights = centered_weights(w, c.has_input(3) ? &c.input(3) : nullptr);
  const int64_t maps = w.dims()[0], channels = w.dims()[1], taps = window.taps(),
                pixels = element_count(window.output), plane = element_count(window.input);
  std::vector<int64_t> offsets(static_cast<size_t>(taps));
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t m = at[i] / pixels % maps, n = at[i] / pixels / maps,
                  first_channel = m / (maps / a.group) * channels;
    window_offsets(window, at[i] % pixels, 1, offsets.data());
    double sum = 0;
    for (int64_t ch = 0; ch < channels; ++ch) {
      const int64_t source = (n * x.dims()[1] + first_channel + ch) * plane;
      const double* weight = weights.data() + (m * channels + ch) * taps;
      for (int64_t k = 0; k < taps; ++k)
        if (const int64_t from = offsets[static_cast<size_t>(k)]; from >= 0)
          sum += (load_double(x, source + from) - x_zero) * weight[k];
    }
    result[i] = as_int32(sum);
  }
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(dims_product(inputs[1], 1, inputs[1].size()));
}

std::vector<Sample> samples() {
  const auto u8 = [](Dims d, int seed) { return sample_values(DType::kUint8, std::move(d), 0, 255, seed); };
  const auto i8 = [](Dims d, int seed) { return sample_values(DType::kInt8, std::move(d), -128, 127, seed); };
  std::vector<Sample> s;
  s.push_back({"no zero points", {u8({1, 2, 5, 5}, 1), i8({3, 2, 3, 3}, 2)}, {}});
  s.push_back({"padded with the zero point",
               {u8({1, 2, 4, 5}, 1), u8({3, 2, 3, 3}, 2), u8({}, 3), u8({}, 4)},
               sample_attributes({{"pads", ints_attribute({1, 1, 1, 1})}})});
  s.push_back({"zero point of each map",
               {u8({1, 2, 5, 5}, 1), i8({3, 2, 2, 2}, 2), u8({}, 3), i8({3}, 4)},
               sample_attributes({{"strides", ints_attribute({2, 2})}})});
  s.push_back({"groups",
               {i8({1, 4, 5, 5}, 1), i8({4, 1, 3, 3}, 2), i8({}, 3)},
               sample_attributes({{"group", int_attribute(4)}})});
  s.push_back({"one axis", {u8({2, 3, 9}, 1), u8({2, 3, 4}, 2), u8({}, 3)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "ConvInteger";
  d.doc = "int32 convolution of 8-bit data and weights, zero points subtracted first (ONNX ConvInteger-10).";
  d.since = 10;
  d.min_inputs = 2;
  d.max_inputs = 4;
  d.attributes = attribute_specs<ConvAttributes>();
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_conv_integer
