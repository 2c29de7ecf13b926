// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/conv_problem.h"

#include <algorithm>

namespace wootz {
namespace {

struct Axis {
  int64_t in, kernel, stride, dilation, begin, end, out;
};

/// Padding and output size along one spatial axis.
std::optional<std::string> resolve_axis(Axis& a, const std::string& auto_pad) {
  const int64_t window = (a.kernel - 1) * a.dilation + 1;
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    a.out = (a.in + a.stride - 1) / a.stride;
    const int64_t total = std::max<int64_t>(0, (a.out - 1) * a.stride + window - a.in);
    a.begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    a.end = total - a.begin;
    return std::nullopt;
  }
  if (auto_pad == "VALID") a.begin = a.end = 0;
  if (a.begin < 0 || a.end < 0) return "negative padding";
  const int64_t space = a.in + a.begin + a.end - window;
  if (space < 0) return "the kernel is larger than the padded input";
  a.out = space / a.stride + 1;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_conv_geometry(const Node& conv, const Dims& x, const Dims& w, ConvGeometry& g) {
  const size_t spatial = x.size() - 2;
  if (x.size() < 3 || spatial > 2) return "rank " + std::to_string(x.size()) + ", expected 3 or 4";
  if (w.size() != x.size()) return "weights of rank " + std::to_string(w.size()) + " for data of rank " + std::to_string(x.size());
  const Attributes& at = conv.attributes;
  const Ints strides = at.get<Ints>("strides", Ints(spatial, 1));
  const Ints dilations = at.get<Ints>("dilations", Ints(spatial, 1));
  Ints pads = at.get<Ints>("pads", Ints(2 * spatial, 0));
  const std::string auto_pad = at.get<std::string>("auto_pad", "NOTSET");
  if (pads.size() != 2 * spatial) pads.assign(2 * spatial, 0);
  Axis axes[2] = {{1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, 0, 0, 1}};
  for (size_t i = 0; i < spatial; ++i) {
    Axis& a = axes[2 - spatial + i];
    a = {x[2 + i], w[2 + i], strides[i], dilations[i], pads[i], pads[spatial + i], 0};
    if (auto why = resolve_axis(a, auto_pad)) return why;
  }
  g.batch = x[0];
  g.channels = x[1];
  g.outputs = w[0];
  g.groups = at.get<int64_t>("group", 1);
  if (g.groups < 1 || w[1] * g.groups != x[1] || w[0] % g.groups != 0) return "groups do not divide the channels";
  const auto& [h, v] = std::pair(axes[0], axes[1]);
  g.in_h = h.in, g.kernel_h = h.kernel, g.stride_h = h.stride, g.dilation_h = h.dilation;
  g.pad_top = h.begin, g.pad_bottom = h.end, g.out_h = h.out;
  g.in_w = v.in, g.kernel_w = v.kernel, g.stride_w = v.stride, g.dilation_w = v.dilation;
  g.pad_left = v.begin, g.pad_right = v.end, g.out_w = v.out;
  return std::nullopt;
}

ImageStrides image_strides(const TensorDesc& desc) {
  const size_t rank = desc.dims.size();
  ImageStrides s;
  s.n = desc.strides[0];
  s.c = desc.dims[1] == 1 ? 1 : desc.strides[1];
  s.h = rank == 4 ? desc.strides[2] : 0;
  s.w = desc.strides[rank - 1];
  return s;
}

std::optional<std::string> ConvProblem::read(const Problem& problem, ConvProblem& c) {
  auto view = view_contraction(problem.body(), {"Conv"});
  if (!view) return "not a convolution with a pointwise tail";
  c.view = std::move(*view);
  const Node& node = *c.view.main;
  c.x_input = body_input_index(problem.body(), node.input(0));
  c.w_input = body_input_index(problem.body(), node.input(1));
  const TensorDesc& x = problem.inputs[static_cast<size_t>(c.x_input)];
  const TensorDesc& w = problem.inputs[static_cast<size_t>(c.w_input)];
  const TensorDesc& y = problem.outputs[0];
  for (const TensorDesc* d : {&x, &w, &y})
    if (d->dtype != DType::kFloat32) return "element type " + std::string(dtype_name(d->dtype)) + ", expected float32";
  if (auto why = read_conv_geometry(node, x.dims, w.dims, c.geometry)) return why;
  const ConvGeometry& g = c.geometry;
  Dims main_dims = {g.batch, g.outputs};
  if (x.dims.size() == 4) main_dims.push_back(g.out_h);
  main_dims.push_back(g.out_w);
  if (auto why = c.epilogue.prepare(problem, c.view, main_dims, 1, node.input(2))) return why;
  const auto pitch = row_pitch(y, 1);
  if (!pitch) return "the output is not channels-last with evenly spaced pixels";
  c.y_pitch = *pitch;
  c.x = image_strides(x);
  return std::nullopt;
}

const Tensor& conv_weights(const Problem& problem) {
  const auto view = view_contraction(problem.body(), {"Conv"});
  const int w = body_input_index(problem.body(), view->main->input(1));
  return *problem.inputs[static_cast<size_t>(w)].constant;
}

}  // namespace wootz
