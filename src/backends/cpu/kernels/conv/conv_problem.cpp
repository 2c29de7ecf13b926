// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/conv_problem.h"

#include <algorithm>

#include "ops/nn/conv.h"

namespace wootz {

std::optional<std::string> read_conv_geometry(const Node& conv, const Dims& x, const Dims& w,
                                              ConvGeometry& g) {
  if (x.size() < 3 || x.size() > 4) return "rank " + std::to_string(x.size()) + ", expected 3 or 4";
  const auto attributes = read_attributes<ConvAttributes>(conv.attributes);
  const Window window = conv_window(attributes, x, w);
  const size_t last = window.rank() - 1;
  g.batch = x[0];
  g.channels = x[1];
  g.outputs = w[0];
  g.groups = attributes.group;
  g.in_w = x.back(), g.kernel_w = window.kernel[last], g.out_w = window.output[last];
  g.stride_w = window.strides[last], g.dilation_w = window.dilations[last];
  g.pad_left = window.pads_begin[last], g.pad_right = window.pads_end[last];
  if (last == 0) return std::nullopt;
  g.in_h = x[2], g.kernel_h = window.kernel[0], g.out_h = window.output[0];
  g.stride_h = window.strides[0], g.dilation_h = window.dilations[0];
  g.pad_top = window.pads_begin[0], g.pad_bottom = window.pads_end[0];
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
    if (d->dtype != DType::kFloat32)
      return "element type " + std::string(dtype_name(d->dtype)) + ", expected float32";
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
