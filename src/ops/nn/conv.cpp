// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv.h"

#include <algorithm>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {

Window conv_window(const ConvAttributes& a, std::span<const int64_t> x, std::span<const int64_t> w) {
  if (x.size() < 2 || w.size() != x.size())
    throw Error(ErrorKind::kInvalidModel,
                "expected data [N,C,spatial...] and weights [M,C/group,kernel...] of one rank, found " +
                    dims_text(x) + " and " + dims_text(w));
  if (a.group < 1 || x[1] != w[1] * a.group || w[0] % a.group != 0)
    throw Error(ErrorKind::kInvalidModel, "expected weights [M,C/group,...] with C = " +
                                              std::to_string(x[1]) + ", group = " + std::to_string(a.group) +
                                              " and M a multiple of group, found " + dims_text(w));
  const std::span<const int64_t> kernel = w.subspan(2);
  if (!a.kernel_shape.empty() &&
      !std::equal(kernel.begin(), kernel.end(), a.kernel_shape.begin(), a.kernel_shape.end()))
    throw Error(ErrorKind::kInvalidModel, "kernel_shape: expected the weights' " + dims_text(kernel) +
                                              ", found " + dims_text(a.kernel_shape));
  return resolve_window(a, kernel, x.subspan(2));
}

std::vector<double> convolve(const Window& window, int64_t group, std::span<const double> x,
                             std::span<const int64_t> x_dims, std::span<const double> w,
                             std::span<const int64_t> w_dims, const double* bias) {
  const int64_t batch = x_dims[0], channels = w_dims[1], maps = w_dims[0] / group, taps = window.taps();
  const int64_t pixels = element_count(window.output), plane = element_count(window.input),
                depth = channels * taps;
  std::vector<double> y(static_cast<size_t>(batch * w_dims[0] * pixels));
  const auto columns = [&](int64_t begin, int64_t end) {
    std::vector<double> panel(static_cast<size_t>(depth * kPanelWidth)),
        out(static_cast<size_t>(maps * kPanelWidth));
    std::vector<int64_t> offsets(static_cast<size_t>(taps * kPanelWidth));
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kPanelWidth, width = std::min(kPanelWidth, pixels - first);
      window_offsets(window, first, width, offsets.data());
      for (int64_t ng = 0; ng < batch * group; ++ng) {
        const double* source = x.data() + ng * channels * plane;
        for (int64_t c = 0; c < channels; ++c, source += plane)
          for (int64_t t = 0; t < taps; ++t) {
            double* to = panel.data() + (c * taps + t) * kPanelWidth;
            const int64_t* from = offsets.data() + t * width;
            for (int64_t j = 0; j < width; ++j) to[j] = from[j] < 0 ? 0.0 : source[from[j]];
          }
        const int64_t g = ng % group;
        multiply_panel(w.data() + g * maps * depth, maps, depth, panel.data(), width, out.data());
        for (int64_t m = 0; m < maps; ++m) {
          double* to = y.data() + (ng * maps + m) * pixels + first;
          const double b = bias ? bias[g * maps + m] : 0;
          for (int64_t j = 0; j < width; ++j) to[j] = out[static_cast<size_t>(m * kPanelWidth + j)] + b;
        }
      }
    }
  };
  in_parts((pixels + kPanelWidth - 1) / kPanelWidth, 1, columns);
  return y;
}

Shape infer_conv_shape(InferContext& c, size_t x, size_t w) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Shape &data = c.shape(x), &weights = c.shape(w);
  c.check(data.size() >= 2 && data.size() == weights.size(),
          "expected data [N,C,spatial...] and weights [M,C/group,kernel...] of one rank, found ranks " +
              std::to_string(data.size()) + " and " + std::to_string(weights.size()));
  c.check(a.group >= 1, "group: expected a positive number, found " + std::to_string(a.group));
  c.equate(data[1], weights[1] * a.group, "channels of the data and C/group * group of the weights");
  c.check(!weights[0].is_constant() || weights[0].value() % a.group == 0,
          "expected a number of maps that group divides");
  std::vector<Dim> kernel(weights.begin() + 2, weights.end());
  if (!a.kernel_shape.empty()) {
    c.check(a.kernel_shape.size() == kernel.size(), "kernel_shape: expected one value for each spatial axis");
    for (size_t i = 0; i < kernel.size(); ++i) {
      c.equate(kernel[i], Dim(a.kernel_shape[i]), "kernel_shape and the weights");
      kernel[i] = a.kernel_shape[i];
    }
  }
  Shape out{data[0], weights[0]};
  const std::vector<Dim> spatial(data.begin() + 2, data.end());
  for (const Dim& d : window_output(c.symbols(), a, kernel, spatial)) out.push_back(d);
  return out;
}

}  // namespace wootz

namespace wootz::op_conv {
namespace {

void infer(InferContext& c) {
  c.check_same_dtype(0, 1);
  if (c.has_input(2)) c.check_same_dtype(0, 2);
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, c.dtype(0));
  const Shape out = infer_conv_shape(c, 0, 1);
  if (c.has_rank(2)) {
    c.check_rank(2, 1);
    c.equate(c.shape(2)[0], out[1], "bias and output channels");
  }
  c.set_output(0, c.dtype(0), out);
}

const Tensor* bias_of(const EvalContext& c, int64_t maps) {
  if (!c.has_input(2)) return nullptr;
  c.check(c.input(2).dims() == Dims{maps},
          "bias: expected [" + std::to_string(maps) + "], found " + dims_text(c.input(2).dims()));
  return &c.input(2);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_window(a, x.dims(), w.dims());
  const Tensor* bias = bias_of(c, w.dims()[0]);
  const std::vector<double> b = bias ? bias->to_doubles() : std::vector<double>();
  Dims dims{x.dims()[0], w.dims()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  store_doubles(convolve(window, a.group, x.to_doubles(), x.dims(), w.to_doubles(), w.dims(),
                         bias ? b.data() : nullptr),
                c.output(0, x.dtype(), dims));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto a = c.attributes_as<ConvAttributes>();
  const Tensor &x = c.input(0), &w = c.input(1);
  const Window window = conv_window(a, x.dims(), w.dims());
  const Tensor* bias = bias_of(c, w.dims()[0]);
  const int64_t maps = w.dims()[0], channels = w.dims()[1], taps = window.taps();
  const int64_t pixels = element_count(window.output), plane = element_count(window.input);
  std::vector<int64_t> offsets(static_cast<size_t>(taps));
  visit_float(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T *xs = x.as<T>(), *ws = w.as<T>();
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t m = at[i] / pixels % maps, n = at[i] / pixels / maps,
                    first_channel = m / (maps / a.group) * channels;
      window_offsets(window, at[i] % pixels, 1, offsets.data());
      double sum = bias ? static_cast<double>(bias->as<T>()[m]) : 0.0;
      for (int64_t ch = 0; ch < channels; ++ch) {
        const T* source = xs + (n * x.dims()[1] + first_channel + ch) * plane;
        const T* weight = ws + (m * channels + ch) * taps;
        for (int64_t k = 0; k < taps; ++k)
          if (const int64_t from = offsets[static_cast<size_t>(k)]; from >= 0)
            sum += static_cast<double>(source[from]) * static_cast<double>(weight[k]);
      }
      result[i] = sum;
    }
  });
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  const Dims& w = inputs[1];
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(dims_product(w, 1, w.size()));
}

std::vector<Sample> samples() {
  const auto floats = sample_floats;
  std::vector<Sample> s;
  const DType f32 = DType::kFloat32, f16 = DType::kFloat16;
  s.push_back({"3x3 same",
               {floats({1, 3, 7, 6}, 1, f32), floats({4, 3, 3, 3}, 2, f32), floats({4}, 3, f32)},
               sample_attributes({{"pads", ints_attribute({1, 1, 1, 1})}})});
  s.push_back(
      {"strides and uneven pads",
       {floats({2, 2, 9, 8}, 1, f32), floats({3, 2, 3, 2}, 2, f32)},
       sample_attributes({{"strides", ints_attribute({2, 3})}, {"pads", ints_attribute({0, 1, 2, 0})}})});
  s.push_back({"depthwise, dilated",
               {floats({1, 4, 8, 8}, 1, f32), floats({4, 1, 3, 3}, 2, f32), floats({4}, 3, f32)},
               sample_attributes({{"group", int_attribute(4)}, {"dilations", ints_attribute({2, 1})}})});
  s.push_back({"groups, SAME_UPPER",
               {floats({1, 4, 5, 7}, 1, f32), floats({6, 2, 3, 2}, 2, f32)},
               sample_attributes({{"group", int_attribute(2)},
                                  {"auto_pad", string_attribute("SAME_UPPER")},
                                  {"strides", ints_attribute({2, 2})}})});
  s.push_back({"SAME_LOWER, even kernel",
               {floats({1, 1, 5, 5}, 1, f32), floats({1, 1, 2, 4}, 2, f32)},
               sample_attributes({{"auto_pad", string_attribute("SAME_LOWER")}})});
  s.push_back({"one spatial axis", {floats({2, 3, 11}, 1, f32), floats({2, 3, 4}, 2, f32)}, {}});
  s.push_back({"three spatial axes", {floats({1, 2, 4, 5, 3}, 1, f32), floats({3, 2, 2, 3, 1}, 2, f32)}, {}});
  s.push_back(
      {"1x1 float16", {floats({1, 8, 3, 3}, 1, f16), floats({5, 8, 1, 1}, 2, f16), floats({5}, 3, f16)}, {}});
  s.push_back({"empty batch", {floats({0, 3, 5, 5}, 1, f32), floats({2, 3, 3, 3}, 2, f32)}, {}});
  s.push_back({"negative pads crop",
               {floats({1, 1, 6, 6}, 1, f32), floats({1, 1, 3, 3}, 2, f32)},
               sample_attributes({{"pads", ints_attribute({-1, 0, 0, -1})}})});
  s.push_back({"float64, 1 pixel out",
               {floats({1, 2, 3, 3}, 1, DType::kFloat64), floats({1, 2, 3, 3}, 2, DType::kFloat64)},
               {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Conv";
  d.doc =
      "Cross-correlation: y[n,m,o] = b[m] + sum over c, t of w[m,c,t] * x[n, c of m's group, o*stride - pad "
      "+ t*dilation] "
      "(ONNX Conv-22).";
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<ConvAttributes>();
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_conv
