// SPDX-License-Identifier: Apache-2.0
// One output row of a depthwise convolution over channels-last pixels.
#pragma once
#include <cstdint>

#include "backends/cpu/cpu_features.h"

namespace wootz {

struct DepthwiseRow {
  const float* image = nullptr;  // pixel (0, 0) of the batch entry
  int64_t x_h = 0, x_w = 0;      // floats between its rows and pixels
  int64_t in_h = 0, in_w = 0, out_w = 0;
  int64_t kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t oy = 0;
  int64_t channels = 0;
  const float* weights = nullptr;  // [taps][ld_weights]
  int64_t ld_weights = 0;
  const float* bias = nullptr;    // or null
  const float* zeros = nullptr;   // `channels` zeros: what lies outside of the image
  float* out = nullptr;           // pixel (oy, 0)
  int64_t pitch = 0;              // floats between output pixels
  const float* addend = nullptr;  // of pixel (oy, 0), or null
  int64_t ld_addend = 0;
  float low = 0, high = 0;
};

inline constexpr int64_t kMaxDepthwiseTaps = 128;

using DepthwiseFunction = void (*)(const DepthwiseRow&);
DepthwiseFunction depthwise_row(Isa isa);

}  // namespace wootz
