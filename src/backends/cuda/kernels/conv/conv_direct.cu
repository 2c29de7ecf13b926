// SPDX-License-Identifier: Apache-2.0
// Any convolution, one result a thread: groups of few channels, depthwise convolutions of odd geometry, weights that are no
// constants. Neighbouring threads have neighbouring output channels. Needs the tail and the constants of a convolution.

struct Problem {
  i64 results;
  int in_h, in_w, out_h, out_w;
  i64 x_n, x_c, x_h, x_w, w_n, w_c, w_tap;  // strides in elements
};

extern "C" __global__ void __launch_bounds__(256)
    conv_direct(const Element* __restrict__ x, const Element* __restrict__ weights, const __grid_constant__ Problem p,
                TAIL_PARAMETERS) {
  const Tail tail = TAIL;
  wz::start_next();
  wz::after_previous();
  const i64 at = (i64)blockIdx.x * 256 + threadIdx.x;
  if (at >= p.results) return;
  const int row = at / N, column = at - (i64)row * N;
  const int area = p.out_h * p.out_w, image = row / area, in_image = row - image * area;
  const int h0 = in_image / p.out_w * STRIDE_H - PAD_TOP, w0 = in_image % p.out_w * STRIDE_W - PAD_LEFT;
  const Element* from = x + image * p.x_n + column / (N / GROUPS) * (CHANNELS * p.x_c);
  const Element* filter = weights + column * p.w_n;
  float sum[1] = {0};
  for (int r = 0; r < TAPS / FILTER_W; ++r) {
    const int h = h0 + r * DILATION_H;
    if (h < 0 || h >= p.in_h) continue;
    for (int s = 0; s < FILTER_W; ++s) {
      const int w = w0 + s * DILATION_W;
      if (w < 0 || w >= p.in_w) continue;
      const Element* pixel = from + h * p.x_h + w * p.x_w;
      const Element* tap = filter + (r * FILTER_W + s) * p.w_tap;
#pragma unroll 4
      for (int c = 0; c < CHANNELS; ++c) sum[0] += wz::load(pixel[c * p.x_c]) * wz::load(tap[c * p.w_c]);
    }
  }
  const float none[1] = {0};
  const Row to = row_at(0, row, p.results / N, tail);
  finish<1>(sum, none, none, to, column, tail);
  store_result<1>(sum, to, column, tail);
}
