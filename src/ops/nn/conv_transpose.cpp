// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv_transpose.h"

#include <algorithm>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {

Window conv_transpose_window(const ConvTransposeAttributes& a, std::span<const int64_t> x,
                             std::span<const int64_t> w) {
  if (x.size() < 2 || w.size() != x.size())
    throw Error(ErrorKind::kInvalidModel,
                "expected data [N,C,spatial...] and weights [C,M/group,kernel...] of one rank, found " +
                    dims_text(x) + " and " + dims_text(w));
  if (a.group < 1 || x[1] != w[0] || x[1] % a.group != 0)
    throw Error(ErrorKind::kInvalidModel,
                "expected weights [C,M/group,...] with C = " + std::to_string(x[1]) +
                    " a multiple of group = " + std::to_string(a.group) + ", found " + dims_text(w));
  const std::span<const int64_t> kernel = w.subspan(2);
  if (!a.kernel_shape.empty() &&
      !std::equal(kernel.begin(), kernel.end(), a.kernel_shape.begin(), a.kernel_shape.end()))
    throw Error(ErrorKind::kInvalidModel, "kernel_shape: expected the weights' " + dims_text(kernel) +
                                              ", found " + dims_text(a.kernel_shape));
  return resolve_transposed_window(a, a.output_padding, a.output_shape, kernel, x.subspan(2));
}

}  // namespace wootz

namespace wootz::op_conv_transpose {
namespace {

void infer(InferContext& c) {
  const auto a = c.attributes_as<ConvTransposeAttributes>();
  c.check_same_dtype(0, 1);
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, c.dtype(0));
  const Shape &x = c.shape(0), &w = c.shape(1);
  c.check(x.size() >= 2 && x.size() == w.size(),
          "expected data [N,C,spatial...] and weights [C,M/group,kernel...] of one rank, found ranks " +
              std::to_string(x.size()) + " and " + std::to_string(w.size()));
  c.check(a.group >= 1, "group: expected a positive number, found " + std::to_string(a.group));
  c.equate(x[1], w[0], "channels of the data and of the weights");
  std::vector<Dim> kernel(w.begin() + 2, w.end());
  if (!a.kernel_shape.empty()) {
    c.check(a.kernel_shape.size() == kernel.size(), "kernel_shape: expected one value for each spatial axis");
    for (size_t i = 0; i < kernel.size(); ++i) {
      c.equate(kernel[i], Dim(a.kernel_shape[i]), "kernel_shape and the weights");
      kernel[i] = a.kernel_shape[i];
    }
  }
  Shape out{x[0], w[1] * a.group};
  const std::vector<Dim> spatial(x.begin() + 2, x.end());
  for (const Dim& d : transposed_window_output(a, a.output_padding, a.output_shape, kernel, spatial))
    out.push_back(d);
  if (c.has_rank(2)) {
    c.check_rank(2, 1);
    c.equate(c.shape(2)[0], out[1], "bias and output channels");
  }
  c.set_output(0, c.dtype(0), out);
}

/// The flat output position that input position `from` reaches by `tap`, or -1 where it is cut off.
int64_t target(const Window& w, const Dims& input_strides, const Dims& tap_strides,
               const Dims& output_strides, int64_t from, int64_t tap) {
  int64_t to = 0;
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t i = from / input_strides[d] % w.input[d], k = tap / tap_strides[d] % w.kernel[d];
    const int64_t o = i * w.strides[d] - w.pads_begin[d] + k * w.dilations[d];
    if (o < 0 || o >= w.output[d]) return -1;
    to += o * output_strides[d];
  }
  return to;
}

void check_bias(const EvalContext& c, int64_t maps) {
  if (c.has_input(2))
    c.check(c.input(2).dims() == Dims{maps},
            "bias: expected [" + std::to_string(maps) + "], found " + dims_text(c.input(2).dims()));
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ConvTransposeAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_transpose_window(a, x.dims(), w.dims());
  const int64_t channels = x.dims()[1] / a.group, maps = w.dims()[1], taps = window.taps();
  const int64_t plane = element_count(window.input), pixels = element_count(window.output),
                rows = maps * taps;
  check_bias(c, maps * a.group);
  const Dims in = contiguous_strides(window.input), ks = contiguous_strides(window.kernel),
             os = contiguous_strides(window.output);
  const std::vector<double> xs = x.to_doubles(), ws = w.to_doubles();
  Dims dims{x.dims()[0], maps * a.group};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  std::vector<double> y(static_cast<size_t>(element_count(dims)));
  if (c.has_input(2)) {
    const std::vector<double> bias = c.input(2).to_doubles();
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i / static_cast<size_t>(pixels) % bias.size()];
  }
  // Columns of one group [rows, channels] times a panel of input positions, scattered to the outputs.
  std::vector<double> matrix(static_cast<size_t>(a.group * rows * channels));
  for (int64_t g = 0; g < a.group; ++g)
    for (int64_t ch = 0; ch < channels; ++ch)
      for (int64_t r = 0; r < rows; ++r)
        matrix[static_cast<size_t>((g * rows + r) * channels + ch)] =
            ws[static_cast<size_t>((g * channels + ch) * rows + r)];
  std::vector<double> panel(static_cast<size_t>(channels * kPanelWidth)),
      out(static_cast<size_t>(rows * kPanelWidth));
  std::vector<int64_t> targets(static_cast<size_t>(taps * kPanelWidth));
  for (int64_t first = 0; first < plane; first += kPanelWidth) {
    const int64_t width = std::min(kPanelWidth, plane - first);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t j = 0; j < width; ++j)
        targets[static_cast<size_t>(t * kPanelWidth + j)] = target(window, in, ks, os, first + j, t);
    for (int64_t ng = 0; ng < dims[0] * a.group; ++ng) {
      for (int64_t ch = 0; ch < channels; ++ch)
        std::copy_n(xs.data() + (ng * channels + ch) * plane + first, width, panel.data() + ch * kPanelWidth);
      multiply_panel(matrix.data() + ng % a.group * rows * channels, rows, channels, panel.data(), width,
                     out.data());
      for (int64_t r = 0; r < rows; ++r) {
        double* to = y.data() + (ng * maps + r / taps) * pixels;
        for (int64_t j = 0; j < width; ++j)
          if (const int64_t o = targets[static_cast<size_t>(r % taps * kPanelWidth + j)]; o >= 0)
            to[o] += out[static_cast<size_t>(r * kPanelWidth + j)];
      }
    }
  }
  store_doubles(y, c.output(0, x.dtype(), dims));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto a = c.attributes_as<ConvTransposeAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_transpose_window(a, x.dims(), w.dims());
  const int64_t channels = x.dims()[1] / a.group, maps = w.dims()[1], taps = window.taps();
  const int64_t plane = element_count(window.input), pixels = element_count(window.output);
  check_bias(c, maps * a.group);
  const Dims in = contiguous_strides(window.input), ks = contiguous_strides(window.kernel),
             os = contiguous_strides(window.output);
  visit_float(x.dtype(), [&](auto type) {
    using T = decltype(type);
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t pixel = at[i] % pixels, map = at[i] / pixels % (maps * a.group),
                    n = at[i] / pixels / (maps * a.group);
      const int64_t first = map / maps * channels;
      double sum = c.has_input(2) ? load_double(c.input(2), map) : 0.0;
      for (int64_t t = 0; t < taps; ++t) {
        int64_t from = 0;
        for (size_t d = 0; d < window.rank() && from >= 0; ++d) {
          const int64_t o = pixel / os[d] % window.output[d] + window.pads_begin[d] -
                            t / ks[d] % window.kernel[d] * window.dilations[d];
          from = o >= 0 && o % window.strides[d] == 0 && o / window.strides[d] < window.input[d]
                     ? from + o / window.strides[d] * in[d]
                     : -1;
        }
        for (int64_t ch = 0; from >= 0 && ch < channels; ++ch)
          sum += static_cast<double>(x.as<T>()[(n * x.dims()[1] + first + ch) * plane + from]) *
                 static_cast<double>(w.as<T>()[((first + ch) * maps + map % maps) * taps + t]);
      }
      result[i] = sum;
    }
  });
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  const Dims& w = inputs[1];
  return 2.0 * static_cast<double>(element_count(inputs[0])) *
         static_cast<double>(dims_product(w, 1, w.size()));
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  const auto ints = [](const char* name, Ints v) {
    return std::pair<const char*, Attribute>(name, ints_attribute(std::move(v)));
  };
  std::vector<Sample> s;
  s.push_back({"stride 2",
               {f({1, 3, 4, 5}, 1, f32), f({3, 2, 3, 3}, 2, f32), f({2}, 3, f32)},
               sample_attributes({ints("strides", {2, 2})})});
  s.push_back({"kernel 2 stride 2",
               {f({2, 4, 3, 3}, 1, f32), f({4, 3, 2, 2}, 2, f32)},
               sample_attributes({ints("strides", {2, 2})})});
  s.push_back({"pads and output padding",
               {f({1, 2, 4, 4}, 1, f32), f({2, 3, 3, 3}, 2, f32)},
               sample_attributes(
                   {ints("strides", {2, 3}), ints("pads", {1, 0, 1, 2}), ints("output_padding", {1, 2})})});
  s.push_back({"groups, dilations",
               {f({1, 4, 4, 3}, 1, f32), f({4, 2, 2, 2}, 2, f32), f({4}, 3, f32)},
               sample_attributes({{"group", int_attribute(2)}, ints("dilations", {2, 1})})});
  s.push_back({"output_shape",
               {f({1, 1, 3, 3}, 1, f32), f({1, 2, 3, 3}, 2, f32)},
               sample_attributes({ints("strides", {3, 2}), ints("output_shape", {10, 8})})});
  s.push_back({"SAME_UPPER",
               {f({1, 1, 3, 3}, 1, f32), f({1, 2, 3, 3}, 2, f32)},
               sample_attributes({ints("strides", {2, 2}), {"auto_pad", string_attribute("SAME_UPPER")}})});
  s.push_back({"SAME_LOWER",
               {f({1, 1, 3, 3}, 1, f32), f({1, 2, 3, 3}, 2, f32)},
               sample_attributes({ints("strides", {2, 2}), {"auto_pad", string_attribute("SAME_LOWER")}})});
  s.push_back(
      {"one axis", {f({1, 2, 5}, 1, f32), f({2, 1, 4}, 2, f32)}, sample_attributes({ints("strides", {3})})});
  s.push_back({"three axes", {f({1, 1, 2, 3, 2}, 1, f32), f({1, 2, 2, 2, 3}, 2, f32)}, {}});
  s.push_back({"float16", {f({1, 2, 3, 3}, 1, DType::kFloat16), f({2, 2, 3, 3}, 2, DType::kFloat16)}, {}});
  s.push_back({"empty batch", {f({0, 2, 3, 3}, 1, f32), f({2, 2, 3, 3}, 2, f32)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "ConvTranspose";
  d.doc =
      "Transposed convolution: y[n,m,i*stride - pad + t*dilation] += x[n,c,i] * w[c,m,t], plus b[m] (ONNX "
      "ConvTranspose-22).";
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<ConvTransposeAttributes>();
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_conv_transpose
