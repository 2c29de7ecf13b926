// SPDX-License-Identifier: Apache-2.0
// Sliding windows over spatial dimensions: kernel, strides, dilations and pads of convolutions and pools,
// resolved.
#pragma once
#include <span>
#include <string>

#include "ir/attribute.h"
#include "ir/dim.h"
#include "ir/tensor.h"

namespace wootz {

/// The window attributes as ONNX spells them; empty lists mean the defaults (strides and dilations 1, pads
/// 0).
struct WindowAttributes {
  std::string auto_pad = "NOTSET";  // NOTSET, SAME_UPPER, SAME_LOWER, VALID
  Ints kernel_shape, strides, dilations;
  Ints pads;              // begin of every axis, then end of every axis
  int64_t ceil_mode = 0;  // pools only
  template <class V>
  void reflect(V& v) {
    v("auto_pad", auto_pad);
    v("kernel_shape", kernel_shape);
    v("strides", strides);
    v("dilations", dilations);
    v("pads", pads);
  }
};

/// Output position o of axis a reads input positions o * strides[a] - pads_begin[a] + t * dilations[a], t <
/// kernel[a].
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;
  Dims input, output;  // spatial dims
  size_t rank() const { return kernel.size(); }
  int64_t taps() const { return element_count(kernel); }
};

/// Window for concrete spatial dims; auto_pad and ceil_mode resolved. kInvalidModel for lists of the wrong
/// length, values that are not positive, or an output that would be negative.
Window resolve_window(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                      std::span<const int64_t> input);

/// The same output dims over expressions.
std::vector<Dim> window_output(SymbolTable& symbols, const WindowAttributes& attributes,
                               std::span<const Dim> kernel, std::span<const Dim> input);

/// Output dims, pads_begin and pads_end of a transposed convolution: `input` and `output` swap their parts,
/// that is, input position i adds to output positions i * strides[a] - pads_begin[a] + t * dilations[a].
Window resolve_transposed_window(const WindowAttributes& attributes, std::span<const int64_t> output_padding,
                                 std::span<const int64_t> output_shape, std::span<const int64_t> kernel,
                                 std::span<const int64_t> input);
std::vector<Dim> transposed_window_output(const WindowAttributes& attributes,
                                          std::span<const int64_t> output_padding,
                                          std::span<const int64_t> output_shape, std::span<const Dim> kernel,
                                          std::span<const Dim> input);

/// Flat input offsets that each tap of the window reads, for output positions [first, first + count); -1 in
/// the padding. offsets[tap * count + i] belongs to output position first + i; taps are row-major over the
/// kernel.
void window_offsets(const Window& window, int64_t first, int64_t count, int64_t* offsets);

}  // namespace wootz
