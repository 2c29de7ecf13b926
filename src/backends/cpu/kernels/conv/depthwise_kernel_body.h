// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by depthwise_kernel_<set>.cpp.
#pragma once
#include <algorithm>

#include "backends/cpu/kernels/conv/depthwise_kernel.h"
#include "backends/cpu/simd.h"

namespace wootz::WOOTZ_SIMD {

/// Loads, stores and the bounds of one vector of channels; the last one may be partial.
template <bool kWhole>
struct Channels {
  int64_t left;
  WOOTZ_INLINE Vec in(const float* p) const { return kWhole ? load(p) : load_n(p, left); }
  WOOTZ_INLINE void out(float* p, Vec v) const {
    if (kWhole)
      store(p, v);
    else
      store_n(p, v, left);
  }
};

template <int WB, bool kWhole>
WOOTZ_INLINE void finish_outputs(const DepthwiseRow& r, Channels<kWhole> ch, int64_t ox, int64_t c,
                                 const Vec* acc) {
  const Vec low = set1(r.low), high = set1(r.high);
#pragma GCC unroll 8
  for (int i = 0; i < WB; ++i) {
    Vec v = acc[i];
    if (r.addend) v = add(v, ch.in(r.addend + (ox + i) * r.ld_addend + c));
    ch.out(r.out + (ox + i) * r.pitch + c, min(high, max(low, v)));
  }
}

/// What of a block's window lies inside of the image: kernel rows [ky0, ky1), inputs [j0, j1) of each.
struct InsideWindow {
  int ky0, ky1, j0, j1;
};

/// WB neighbouring outputs of a K x K kernel. Every input vector is loaded once per kernel row.
template <int K, int S, int WB, bool kWhole>
WOOTZ_INLINE void square_channels(const DepthwiseRow& r, const float* const (&px)[K][(WB - 1) * S + K],
                                  const InsideWindow& in_image, int64_t ox, int64_t c, Channels<kWhole> ch) {
  constexpr int kInputs = (WB - 1) * S + K;
  Vec acc[WB];
  const Vec bias = r.bias ? ch.in(r.bias + c) : set1(0);
#pragma GCC unroll 8
  for (int i = 0; i < WB; ++i) acc[i] = bias;
#pragma GCC unroll 8
  for (int i = 0; i < WB; ++i) __builtin_prefetch(r.out + (ox + i + WB) * r.pitch + c, 1);
  for (int ky = in_image.ky0; ky < in_image.ky1; ++ky) {
    Vec w[K];
#pragma GCC unroll 7
    for (int kx = 0; kx < K; ++kx) w[kx] = load(r.weights + (ky * K + kx) * r.ld_weights + c);
#pragma GCC unroll 32
    for (int j = 0; j < kInputs; ++j) {
      // An input serves up to K sums: from some K on, skipping it pays for the question.
      if (K >= 5 && (j < in_image.j0 || j >= in_image.j1)) continue;
      const Vec in = ch.in(px[ky][j] + c);
#pragma GCC unroll 8
      for (int i = 0; i < WB; ++i) {
        const int kx = j - i * S;
        if (kx >= 0 && kx < K) acc[i] = fmadd(in, w[kx], acc[i]);
      }
    }
  }
  finish_outputs<WB>(r, ch, ox, c, acc);
}

template <int K, int S, int WB>
void square_block(const DepthwiseRow& row, int64_t ox) {
  const DepthwiseRow r = row;  // a copy that vector stores cannot alias: its members stay in registers
  constexpr int kInputs = (WB - 1) * S + K;
  const float* px[K][kInputs];
  const int64_t x0 = ox * S - r.pad_left;
  const bool inside = x0 >= 0 && x0 + kInputs <= r.in_w;
  const int64_t y0 = r.oy * S - r.pad_top;
  const auto clamped = [](int64_t v, int64_t most) {
    return static_cast<int>(std::clamp<int64_t>(v, 0, most));
  };
  const InsideWindow window{clamped(-y0, K), clamped(r.in_h - y0, K), clamped(-x0, kInputs),
                            clamped(r.in_w - x0, kInputs)};
  for (int ky = window.ky0; ky < window.ky1; ++ky) {
    const float* at = r.image + (y0 + ky) * r.x_h + x0 * r.x_w;
    // Borders are looked for only at borders: with few channels the set-up counts.
    if (inside)
      for (int j = 0; j < kInputs; ++j, at += r.x_w) px[ky][j] = at;
    else
      for (int j = 0; j < kInputs; ++j, at += r.x_w)
        px[ky][j] = j >= window.j0 && j < window.j1 ? at : r.zeros;
  }
  int64_t c = 0;
  for (; c + kWidth <= r.channels; c += kWidth)
    square_channels<K, S, WB>(r, px, window, ox, c, Channels<true>{});
  if (c < r.channels) square_channels<K, S, WB>(r, px, window, ox, c, Channels<false>{r.channels - c});
}

/// Outputs [ox, end) of a row, all channels.
template <int K, int S>
void square_span(const DepthwiseRow& r, int64_t ox, int64_t end) {
  while (ox < end) {
    const int64_t left = end - ox;
    if (left >= 7)
      square_block<K, S, 7>(r, ox), ox += 7;
    else if (left >= 4)
      square_block<K, S, 4>(r, ox), ox += 4;
    else if (left >= 2)
      square_block<K, S, 2>(r, ox), ox += 2;
    else
      square_block<K, S, 1>(r, ox), ox += 1;
  }
}

/// `blocks` times WB outputs from ox on, away from the left and right borders, for one vector of channels:
/// the weights stay in registers and no table of pointers is made, which is what few channels spend their
/// time on.
template <int K, int S, int WB, bool kWhole>
void square_sweep(const DepthwiseRow& row, int64_t ox, int64_t blocks, int64_t c, Channels<kWhole> ch) {
  const DepthwiseRow r = row;
  const float* line[K];
  int64_t step[K];
  Vec w[K][K];
#pragma GCC unroll 5
  for (int ky = 0; ky < K; ++ky) {
    const int64_t y = r.oy * S - r.pad_top + ky;
    const bool inside = y >= 0 && y < r.in_h;
    step[ky] = inside ? r.x_w : 0;
    line[ky] = inside ? r.image + y * r.x_h + (ox * S - r.pad_left) * r.x_w + c : r.zeros + c;
#pragma GCC unroll 5
    for (int kx = 0; kx < K; ++kx) w[ky][kx] = load(r.weights + (ky * K + kx) * r.ld_weights + c);
  }
  const Vec bias = r.bias ? ch.in(r.bias + c) : set1(0);
  for (; blocks > 0; --blocks, ox += WB) {
    Vec acc[WB];
#pragma GCC unroll 8
    for (int i = 0; i < WB; ++i) acc[i] = bias;
#pragma GCC unroll 5
    for (int ky = 0; ky < K; ++ky) {
#pragma GCC unroll 32
      for (int j = 0; j < (WB - 1) * S + K; ++j) {
        const Vec in = ch.in(line[ky] + j * step[ky]);
#pragma GCC unroll 8
        for (int i = 0; i < WB; ++i) {
          const int kx = j - i * S;
          if (kx >= 0 && kx < K) acc[i] = fmadd(in, w[ky][kx], acc[i]);
        }
      }
      line[ky] += WB * S * step[ky];
    }
    finish_outputs<WB>(r, ch, ox, c, acc);
  }
}

inline constexpr int64_t kFewChannels = 256;

template <int K, int S>
void square_row(const DepthwiseRow& r) {
  constexpr int WB = 7;
  // Blocks whose inputs all lie inside of the row.
  const int64_t first = r.pad_left <= 0 ? 0 : (r.pad_left + S - 1) / S;
  const int64_t last = (r.in_w + r.pad_left - K) / S;  // the last such output
  const int64_t blocks = (std::min(last + 1, r.out_w) - first) / WB;
  if (K != 3 || kWidth != 16 || r.channels > kFewChannels || blocks < 3)
    return square_span<K, S>(r, 0, r.out_w);
  square_span<K, S>(r, 0, first);
  int64_t c = 0;
  for (; c + kWidth <= r.channels; c += kWidth) square_sweep<3, S, WB>(r, first, blocks, c, Channels<true>{});
  if (c < r.channels) square_sweep<3, S, WB>(r, first, blocks, c, Channels<false>{r.channels - c});
  square_span<K, S>(r, first + blocks * WB, r.out_w);
}

template <int WB, bool kWhole>
WOOTZ_INLINE void any_channels(const DepthwiseRow& r, const float* const* px, int64_t taps, int64_t ox,
                               int64_t c, Channels<kWhole> ch) {
  Vec acc[WB];
  const Vec bias = r.bias ? ch.in(r.bias + c) : set1(0);
#pragma GCC unroll 8
  for (int i = 0; i < WB; ++i) acc[i] = bias;
  for (int64_t t = 0; t < taps; ++t) {
    const Vec w = load(r.weights + t * r.ld_weights + c);
#pragma GCC unroll 8
    for (int i = 0; i < WB; ++i) acc[i] = fmadd(ch.in(px[t * WB + i] + c), w, acc[i]);
  }
  finish_outputs<WB>(r, ch, ox, c, acc);
}

template <int WB>
void any_block(const DepthwiseRow& row, int64_t ox) {
  const DepthwiseRow r = row;
  const float* px[kMaxDepthwiseTaps * WB];
  int64_t taps = 0;
  for (int64_t ky = 0; ky < r.kernel_h; ++ky) {
    const int64_t y = r.oy * r.stride_h - r.pad_top + ky * r.dilation_h;
    const bool row_inside = y >= 0 && y < r.in_h;
    for (int64_t kx = 0; kx < r.kernel_w; ++kx, ++taps)
      for (int i = 0; i < WB; ++i) {
        const int64_t x = (ox + i) * r.stride_w - r.pad_left + kx * r.dilation_w;
        px[taps * WB + i] = row_inside && x >= 0 && x < r.in_w ? r.image + y * r.x_h + x * r.x_w : r.zeros;
      }
  }
  int64_t c = 0;
  for (; c + kWidth <= r.channels; c += kWidth) any_channels<WB>(r, px, taps, ox, c, Channels<true>{});
  if (c < r.channels) any_channels<WB>(r, px, taps, ox, c, Channels<false>{r.channels - c});
}

inline void depthwise_row(const DepthwiseRow& r) {
  if (r.kernel_h == r.kernel_w && r.stride_h == r.stride_w && r.dilation_h == 1 && r.dilation_w == 1) {
    if (r.kernel_w == 3 && r.stride_w == 1) return square_row<3, 1>(r);
    if (r.kernel_w == 3 && r.stride_w == 2) return square_row<3, 2>(r);
    if (r.kernel_w == 5 && r.stride_w == 1) return square_row<5, 1>(r);
    if (r.kernel_w == 5 && r.stride_w == 2) return square_row<5, 2>(r);
    if (r.kernel_w == 7 && r.stride_w == 1) return square_row<7, 1>(r);
  }
  int64_t ox = 0;
  for (; ox + 8 <= r.out_w; ox += 8) any_block<8>(r, ox);
  for (; ox + 2 <= r.out_w; ox += 2) any_block<2>(r, ox);
  if (ox < r.out_w) any_block<1>(r, ox);
}

}  // namespace wootz::WOOTZ_SIMD
