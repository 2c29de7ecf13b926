// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/nn/conv.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_deform_conv {
namespace {

struct DeformConvAttributes {
  Ints dilations, kernel_shape, pads, strides;
  int64_t group = 1, offset_group = 1;
  template <class V>
  void reflect(V& v) {
    v("dilations", dilations);
    v("group", group);
    v("kernel_shape", kernel_shape);
    v("offset_group", offset_group);
    v("pads", pads);
    v("strides", strides);
  }
};

// Inputs: X, W, offset, B, mask.
void infer(InferContext& c) {
  c.check_same_dtype(0, 1);
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, c.dtype(0));
  const Shape out = infer_conv_shape(c, 0, 1);
  if (c.has_rank(2)) {
    c.check_rank(2, static_cast<int64_t>(out.size()));
    for (size_t i = 2; i < out.size(); ++i)
      c.equate(c.shape(2)[i], out[i], "spatial dims of offset and output");
  }
  c.set_output(0, c.dtype(0), out);
}

/// Linear interpolation of a plane at a fractional position; 0 outside.
double sample_plane(const double* plane, const Dims& dims, const Dims& strides, std::span<const double> at) {
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << dims.size(); ++corner) {
    double weight = 1;
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size() && weight != 0; ++d) {
      const double low = std::floor(at[d]), fraction = at[d] - low;
      const bool upper = corner >> d & 1;
      weight *= upper ? fraction : 1 - fraction;
      const double position = low + (upper ? 1 : 0);
      if (!(position >= 0 && position < static_cast<double>(dims[d])))
        weight = 0;
      else
        offset += static_cast<int64_t>(position) * strides[d];
    }
    if (weight != 0) sum += weight * plane[offset];
  }
  return sum;
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<DeformConvAttributes>();
  ConvAttributes conv;
  conv.dilations = a.dilations;
  conv.kernel_shape = a.kernel_shape;
  conv.pads = a.pads;
  conv.strides = a.strides;
  conv.group = a.group;
  const Dims &x = c.input(0).dims(), &w = c.input(1).dims();
  const Window window = conv_window(conv, x, w);
  const int64_t rank = static_cast<int64_t>(window.rank()), taps = window.taps(),
                pixels = element_count(window.output), plane = element_count(window.input);
  c.check(a.offset_group > 0 && x[1] % a.offset_group == 0, "offset_group: expected a divisor of " +
                                                                std::to_string(x[1]) + ", found " +
                                                                std::to_string(a.offset_group));
  const auto with_output = [&](int64_t channels) {
    Dims d{x[0], channels};
    d.insert(d.end(), window.output.begin(), window.output.end());
    return d;
  };
  const Dims offset_dims = with_output(a.offset_group * taps * rank),
             mask_dims = with_output(a.offset_group * taps);
  c.check(c.input(2).dims() == offset_dims,
          "offset: expected " + dims_text(offset_dims) + ", found " + dims_text(c.input(2).dims()));
  c.check(!c.has_input(4) || c.input(4).dims() == mask_dims, "mask: expected " + dims_text(mask_dims));
  const std::vector<double> data = c.input(0).to_doubles(), weights = c.input(1).to_doubles(),
                            offsets = c.input(2).to_doubles();
  const std::vector<double> mask =
      c.has_input(4) ? c.input(4).to_doubles()
                     : std::vector<double>(static_cast<size_t>(element_count(mask_dims)), 1);
  const std::vector<double> bias =
      c.has_input(3) ? c.input(3).to_doubles() : std::vector<double>(static_cast<size_t>(w[0]), 0);
  c.check(static_cast<int64_t>(bias.size()) == w[0], "bias: expected [" + std::to_string(w[0]) + "], found " +
                                                         std::to_string(bias.size()) + " elements");
  const Dims in = contiguous_strides(window.input), out = contiguous_strides(window.output),
             ks = contiguous_strides(window.kernel);
  const int64_t channels = x[1], per_group = channels / a.group, maps = w[0] / a.group,
                per_offset = channels / a.offset_group;
  std::vector<double> columns(static_cast<size_t>(channels * taps * pixels)),
      y(static_cast<size_t>(x[0] * w[0] * pixels));
  std::vector<double> at(static_cast<size_t>(rank));
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t ch = 0; ch < channels; ++ch)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t p = 0; p < pixels; ++p) {
          const int64_t sampling = (n * a.offset_group + ch / per_offset) * taps + t;
          for (size_t d = 0; d < at.size(); ++d)
            at[d] =
                static_cast<double>(p / out[d] % window.output[d] * window.strides[d] - window.pads_begin[d] +
                                    t / ks[d] % window.kernel[d] * window.dilations[d]) +
                offsets[static_cast<size_t>((sampling * rank + static_cast<int64_t>(d)) * pixels + p)];
          columns[static_cast<size_t>((ch * taps + t) * pixels + p)] =
              mask[static_cast<size_t>(sampling * pixels + p)] *
              sample_plane(data.data() + (n * channels + ch) * plane, window.input, in, at);
        }
    for (int64_t g = 0; g < a.group; ++g)
      multiply(weights.data() + g * maps * per_group * taps, columns.data() + g * per_group * taps * pixels,
               maps, pixels, per_group * taps, y.data() + (n * w[0] + g * maps) * pixels);
  }
  for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i / static_cast<size_t>(pixels) % bias.size()];
  store_doubles(y, c.output(0, c.input(0).dtype(), with_output(w[0])));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  std::vector<Sample> s;
  s.push_back({"2x2", {f({1, 2, 4, 4}, 1), f({3, 2, 2, 2}, 2), f({1, 8, 3, 3}, 3)}, {}});
  s.push_back({"bias and mask",
               {f({1, 2, 4, 4}, 1), f({3, 2, 2, 2}, 2), f({1, 8, 3, 3}, 3), f({3}, 4), f({1, 4, 3, 3}, 5)},
               {}});
  s.push_back({"offset groups, pads, strides",
               {f({2, 4, 5, 5}, 1), f({2, 2, 3, 3}, 2), f({2, 36, 3, 3}, 3)},
               sample_attributes({{"group", int_attribute(2)},
                                  {"offset_group", int_attribute(2)},
                                  {"pads", ints_attribute({1, 1, 1, 1})},
                                  {"strides", ints_attribute({2, 2})}})});
  s.push_back({"one axis", {f({1, 1, 6}, 1), f({1, 1, 3}, 2), f({1, 3, 4}, 3)}, {}});
  s.push_back({"far outside",
               {f({1, 1, 3, 3}, 1), f({1, 1, 1, 1}, 2), sample_values(DType::kFloat32, {1, 2, 3, 3}, 50, 60)},
               {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "DeformConv";
  d.doc =
      "Convolution whose taps are moved by offsets (linear interpolation, 0 outside) and weighted by a mask "
      "(ONNX DeformConv-22).";
  d.since = 19;
  d.min_inputs = 3;
  d.max_inputs = 5;
  d.attributes = attribute_specs<DeformConvAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_deform_conv
