// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by winograd_transform_<set>.cpp.
#pragma once
#include "backends/cpu/kernels/conv/winograd_transform.h"
#include "backends/cpu/simd.h"

namespace wootz::WOOTZ_SIMD {

/// One dimension of B^T d.
template <int M>
WOOTZ_INLINE void input_1d(const Vec* d, Vec* r) {
  if constexpr (M == 4) {
    constexpr float p = kWinogradP, q = kWinogradQ;
    const Vec pp = set1(p * p), qq = set1(q * q), s = set1(p * p + q * q), f = set1(p * p * q * q),
              vp = set1(p), vq = set1(q);
    r[0] = fnmadd(s, d[2], fmadd(f, d[0], d[4]));
    Vec e = fnmadd(qq, d[2], d[4]), o = fnmadd(qq, d[1], d[3]);
    r[1] = fmadd(vp, o, e);
    r[2] = fnmadd(vp, o, e);
    e = fnmadd(pp, d[2], d[4]);
    o = fnmadd(pp, d[1], d[3]);
    r[3] = fmadd(vq, o, e);
    r[4] = fnmadd(vq, o, e);
    r[5] = fnmadd(s, d[3], fmadd(f, d[1], d[5]));
  } else {
    r[0] = sub(d[0], d[2]);
    r[1] = add(d[1], d[2]);
    r[2] = sub(d[2], d[1]);
    r[3] = sub(d[3], d[1]);
  }
}

/// One dimension of A^T m.
template <int M>
WOOTZ_INLINE void output_1d(const Vec* m, Vec* r) {
  if constexpr (M == 4) {
    constexpr float p = kWinogradP, q = kWinogradQ;
    const Vec s1 = add(m[1], m[2]), d1 = sub(m[1], m[2]);
    const Vec s2 = add(m[3], m[4]), d2 = sub(m[3], m[4]);
    r[0] = add(m[0], add(s1, s2));
    r[1] = fmadd(set1(p), d1, mul(set1(q), d2));
    r[2] = fmadd(set1(p * p), s1, mul(set1(q * q), s2));
    r[3] = fmadd(set1(p * p * p), d1, fmadd(set1(q * q * q), d2, m[5]));
  } else {
    r[0] = add(m[0], add(m[1], m[2]));
    r[1] = add(m[3], sub(m[1], m[2]));
  }
}

template <int M>
void winograd_input(const WinogradInput& input) {
  constexpr int A = M + 2;
  // Copies that vector stores cannot alias: their members stay in registers.
  const WinogradInput w = input;
  const WinogradShape s = *w.shape;
  const int64_t per_image = s.tiles_h * s.tiles_w;
  for (int64_t t = w.t0; t < w.t1; ++t) {
    const float* image = w.x + t / per_image * s.x_n;
    const int64_t tile = t % per_image;
    const int64_t y0 = tile / s.tiles_w * M - s.pad_top, x0 = tile % s.tiles_w * M - s.pad_left;
    const float* px[A * A];
    for (int i = 0; i < A; ++i)
      for (int j = 0; j < A; ++j) {
        const int64_t y = y0 + i, x = x0 + j;
        const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
        px[i * A + j] = inside ? image + y * s.x_h + x * s.x_w : w.zeros;
      }
    float* out = w.v + (t - w.t0) * w.ldv;
    for (int64_t c = 0; c < s.channels; c += kWidth) {
      // The next tile's new columns: the hardware prefetcher does not follow six short rows at once. The
      // address may lie past the image; a prefetch of it is harmless.
      for (int i = 0; i < A; ++i)
        for (int j = 2; j < A; ++j)
          _mm_prefetch(reinterpret_cast<const char*>(px[i * A + j] + M * s.x_w + c), _MM_HINT_T0);
      const bool whole = c + kWidth <= s.channels;
      Vec half[A][A];  // [column][row]
#pragma GCC unroll 6
      for (int j = 0; j < A; ++j) {
        Vec d[A];
#pragma GCC unroll 6
        for (int i = 0; i < A; ++i)
          d[i] = whole ? load(px[i * A + j] + c) : load_n(px[i * A + j] + c, s.channels - c);
        input_1d<M>(d, half[j]);
      }
#pragma GCC unroll 6
      for (int i = 0; i < A; ++i) {
        Vec d[A], r[A];
#pragma GCC unroll 6
        for (int j = 0; j < A; ++j) d[j] = half[j][i];
        input_1d<M>(d, r);
#pragma GCC unroll 6
        for (int j = 0; j < A; ++j) store(out + (i * A + j) * w.matrix + c, r[j]);
      }
    }
  }
}

/// Where a tile lies: its image, its first pixel, the pixels of it that are inside.
struct WinogradTile {
  int64_t image, y0, x0, rows, columns;
};

/// The largest of each 2x2 pixels of a tile's `left` channels from `c` on.
template <int M>
WOOTZ_INLINE void store_pooled(const WinogradOutput& w, const WinogradShape& s, const WinogradTile& tile,
                               const Vec (&v)[M][M], int64_t c, int64_t left) {
#pragma GCC unroll 2
  for (int i = 0; i < M; i += 2)
#pragma GCC unroll 2
    for (int j = 0; j < M; j += 2) {
      const int64_t row = (tile.y0 + i) / 2, column = (tile.x0 + j) / 2;
      if (row >= s.pooled_h || column >= s.pooled_w) continue;
      const bool wide = j + 1 < tile.columns, high = i + 1 < tile.rows;
      Vec most = v[i][j];
      if (wide) most = maximum(most, v[i][j + 1]);
      if (high) most = maximum(most, v[i + 1][j]);
      if (wide && high) most = maximum(most, v[i + 1][j + 1]);
      store_n(w.y + ((tile.image * s.pooled_h + row) * s.pooled_w + column) * w.pitch + c, most, left);
    }
}

template <int M>
void winograd_output(const WinogradOutput& output) {
  constexpr int A = M + 2;
  const WinogradOutput w = output;
  const WinogradShape s = *w.shape;
  const int64_t per_image = s.tiles_h * s.tiles_w;
  const Vec low = set1(w.low), high = set1(w.high);
  for (int64_t t = w.t0; t < w.t1; ++t) {
    const int64_t tile = t % per_image;
    const int64_t y0 = tile / s.tiles_w * M, x0 = tile % s.tiles_w * M;
    const int64_t rows = s.out_h - y0 < M ? s.out_h - y0 : M, columns = s.out_w - x0 < M ? s.out_w - x0 : M;
    const WinogradTile place{t / per_image, y0, x0, rows, columns};
    const int64_t pixel = (place.image * s.out_h + y0) * s.out_w + x0;
    float* out = w.y + pixel * w.pitch;
    const bool pools = s.pooled_h > 0;
    const float* addend = w.addend ? w.addend + pixel * w.ld_addend : nullptr;
    const float* m = w.m + (t - w.t0) * w.ldm;
    for (int64_t c = 0; c < w.columns; c += kWidth) {
      const int64_t left = w.columns - c;
      for (int64_t i = 0; i < (pools ? 0 : rows); ++i)
        for (int j = 0; j < M; ++j) __builtin_prefetch(out + (i * s.out_w + j + M) * w.pitch + c, 1);
      Vec half[A][M];  // [column][row]
#pragma GCC unroll 6
      for (int j = 0; j < A; ++j) {
        Vec d[A];
#pragma GCC unroll 6
        for (int i = 0; i < A; ++i) d[i] = load(m + (i * A + j) * w.matrix + c);
        output_1d<M>(d, half[j]);
      }
      const Vec bias = w.bias ? load_n(w.bias + c, left) : set1(0);
      Vec y[M][M];
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        Vec d[A];
#pragma GCC unroll 6
        for (int j = 0; j < A; ++j) d[j] = half[j][i];
        output_1d<M>(d, y[i]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < M; ++j) {
          if (i >= rows || j >= columns) continue;
          const int64_t at = i * s.out_w + j;
          Vec v = add(y[i][j], bias);
          if (addend) v = add(v, load_n(addend + at * w.ld_addend + c, left));
          v = min(high, max(low, v));
          if (pools)
            y[i][j] = v;
          else if (left >= kWidth)
            store(out + at * w.pitch + c, v);
          else
            store_n(out + at * w.pitch + c, v, left);
        }
      if (pools) store_pooled<M>(w, s, place, y, c, left);
    }
  }
}

}  // namespace wootz::WOOTZ_SIMD
