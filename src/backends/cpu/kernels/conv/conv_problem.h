// SPDX-License-Identifier: Apache-2.0
// A convolution region read once for all convolution tactics.
#pragma once
#include <optional>
#include <string>

#include "backends/cpu/epilogue.h"
#include "device/region.h"

namespace wootz {

/// Sizes of a convolution over one or two spatial dimensions; a 1-D one has height 1.
struct ConvGeometry {
  int64_t batch = 1, channels = 1, outputs = 1, groups = 1;
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  int64_t pixels() const { return batch * out_h * out_w; }
  bool is_pointwise() const {  // 1x1, output pixel = input pixel
    return taps() == 1 && stride_h == 1 && stride_w == 1 && pad_top == 0 && pad_left == 0 && in_h == out_h &&
           in_w == out_w;
  }
};
/// Geometry of an ONNX Conv at concrete dims [N, C, (H,) W] and [M, C / group, (kH,) kW]; or why there is
/// none.
std::optional<std::string> read_conv_geometry(const Node& conv, const Dims& x, const Dims& w,
                                              ConvGeometry& geometry);

/// Element strides of an image operand.
struct ImageStrides {
  int64_t n = 0, c = 1, h = 0, w = 0;
};
ImageStrides image_strides(const TensorDesc& desc);

struct ConvProblem {
  ContractionView view;
  ConvGeometry geometry;
  int x_input = -1, w_input = -1;
  ImageStrides x;
  int64_t y_pitch = 0;  // floats between output pixels
  EpiloguePlan epilogue;

  /// Reads a float32 convolution region whose output has adjacent channels and whose weights are constant; or
  /// tells why the region is something else.
  static std::optional<std::string> read(const Problem& problem, ConvProblem& conv);
};

/// The weights of the region's Conv: the constant [M, C / group, kH, kW].
const Tensor& conv_weights(const Problem& problem);

}  // namespace wootz
