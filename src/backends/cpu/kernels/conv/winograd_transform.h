// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd convolution F(MxM, 3x3), M = 2 or 4 (Lavin and Gray, "Fast algorithms for
// convolutional neural networks"), over channels-last pixels.
#pragma once
#include <cstdint>

#include "backends/cpu/cpu_features.h"

namespace wootz {

struct WinogradShape {
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t pad_top = 0, pad_left = 0;
  int64_t tiles_h = 0, tiles_w = 0;  // of one image
  int64_t channels = 0;
  int64_t x_n = 0, x_h = 0, x_w = 0;   // floats between images, rows, pixels
  int64_t pooled_h = 0, pooled_w = 0;  // of a pool of 2x2 windows in steps of 2 behind it; 0: none
};

struct WinogradInput {
  const WinogradShape* shape = nullptr;
  const float* x = nullptr;
  const float* zeros = nullptr;  // `channels` zeros
  int64_t t0 = 0, t1 = 0;        // tiles
  float* v = nullptr;            // tile t0's channels of the first matrix
  int64_t ldv = 0;               // floats between tiles; at least channels rounded up to 16
  int64_t matrix = 0;            // floats between the (M + 2)^2 matrices
};

struct WinogradOutput {
  const WinogradShape* shape = nullptr;
  int64_t t0 = 0, t1 = 0;
  const float* m = nullptr;  // tile t0's columns of the first matrix
  int64_t ldm = 0, matrix = 0;
  int64_t columns = 0;  // output channels
  float* y = nullptr;   // pixel 0 of the output (the pool's where there is one), at the first of the columns
  int64_t pitch = 0;
  const float* bias = nullptr;    // at the first of the columns, or null
  const float* addend = nullptr;  // pixel 0, at the first of the columns, or null
  int64_t ld_addend = 0;
  float low = 0, high = 0;
};

struct WinogradTransforms {
  void (*input2)(const WinogradInput&);
  void (*output2)(const WinogradOutput&);
  void (*input4)(const WinogradInput&);
  void (*output4)(const WinogradOutput&);
};
const WinogradTransforms& winograd_transforms(Isa isa);

/// The points of F(4, 3) are 0, +-p, +-q and infinity. The transforms cost the same for any p and q; with
/// these the error is about a quarter of that with the usual 1 and 2.
inline constexpr float kWinogradP = 0.70710678f, kWinogradQ = 1.41421356f;

/// One 3x3 kernel transformed into (M + 2)^2 products, row-major.
void transform_winograd_kernel(int m, const double kernel[3][3], double* u);

}  // namespace wootz
