// SPDX-License-Identifier: Apache-2.0
// The input of stem_sm90.cu: any layout and float type of at most eight channels becomes [images][PADDED_H][UNITS] units of 16 bytes, with
// the padding written out. A unit is PIXELS pixels of 8 / PIXELS channels.

struct Image {
  int units, height, width;  // units of the result; size of the input
  i64 x_n, x_c, x_h, x_w;    // strides of the input, in elements
};

extern "C" __global__ void __launch_bounds__(256)
    stem_prepare(const Source* __restrict__ x, wz::Bytes16* __restrict__ y, const __grid_constant__ Image p) {
  wz::start_next();
  wz::after_previous();
  const int at = blockIdx.x * 256 + threadIdx.x;
  if (at >= p.units) return;
  const int line = at / UNITS, unit = at - line * UNITS;
  const int image = line / PADDED_H, h = line - image * PADDED_H - PAD_TOP;
  constexpr int kChannels = 8 / PIXELS;
  u16 values[8] = {};
#pragma unroll
  for (int i = 0; i < PIXELS; ++i) {
    const int w = unit * PIXELS + i - PAD_LEFT;
    if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
    const Source* from = x + image * p.x_n + h * p.x_h + w * p.x_w;
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c) values[i * kChannels + c] = wz::store<Element>(wz::load(from[c * p.x_c])).bits;
  }
  wz::Bytes16 out;
#pragma unroll
  for (int i = 0; i < 4; ++i) out.word[i] = values[2 * i] | (u32)values[2 * i + 1] << 16;
  y[at] = out;
}
