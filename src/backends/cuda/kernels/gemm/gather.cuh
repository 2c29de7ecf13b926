// SPDX-License-Identifier: Apache-2.0
// What the general kernels multiply, wherever it lies: rows of A (of a matrix, or the pixels under a filter) and of B, with
// any strides. Needs Element, N, K, K_TRUE, GROUPS, CONVOLUTION and a convolution's constants.

// What may change between launches of one compiled kernel. Strides are in elements.
struct Problem {
  int rows, matrices, tiles_m, tiles_n;
  i64 a_row, a_k, b_n, b_k;
  int batch[4];
  i64 a_batch[4], b_batch[4];
  int in_h, in_w, out_h, out_w;
  i64 x_n, x_c, x_h, x_w;
};

constexpr int kColumns = N / GROUPS;  // of one matrix or group

struct Tile {
  int row, col, matrix;
};

// Bands of eight tile rows, rows fastest inside a band: the tiles that run at one time share few rows and few columns.
WZ_FN Tile tile_at(int index, const Problem& p, int tile_rows, int tile_cols) {
  const int tiles = p.tiles_m * p.tiles_n;
  const int matrix = index / tiles;
  index -= matrix * tiles;
  const int band = index / (8 * p.tiles_n);
  const int inside = index - band * 8 * p.tiles_n;
  const int rows = min(8, p.tiles_m - band * 8);
  return {(band * 8 + inside % rows) * tile_rows, inside / rows * tile_cols, matrix};
}

// Where the tile's matrices begin, in elements.
struct Origin {
  i64 a, b;
};
WZ_FN Origin origin_of(int matrix, const Problem& p) {
  if constexpr (GROUPS > 1) return {(i64)matrix * (CHANNELS * p.x_c), (i64)matrix * kColumns * p.b_n};
  Origin at = {0, 0};
#if !CONVOLUTION
#pragma unroll
  for (int d = 3; d >= 0; --d) {
    const int next = matrix / p.batch[d], i = matrix - next * p.batch[d];
    at.a += i * p.a_batch[d];
    at.b += i * p.b_batch[d];
    matrix = next;
  }
#endif
  return at;
}

// A row of A: where it begins, and for a convolution the pixel under the filter's first tap.
struct RowA {
  i64 base;
  int h, w;
  bool inside;
};
WZ_FN RowA row_a(int row, i64 origin, const Problem& p) {
#if CONVOLUTION
  const int area = p.out_h * p.out_w;
  const int image = row / area, in_image = row - image * area;
  const int h = in_image / p.out_w, w = in_image - h * p.out_w;
  return {origin + image * p.x_n, h * STRIDE_H - PAD_TOP, w * STRIDE_W - PAD_LEFT, row < p.rows};
#else
  return {origin + row * p.a_row, 0, 0, row < p.rows};
#endif
}

#ifndef RUN
#define RUN 8
#endif
// Elements k ... k + RUN - 1 of a row (RUN divides the channels of a tap as they are padded): offset of the first, the distance of
// neighbours, and how many there are; the rest is zero.
struct Run {
  i64 offset, step;
  int count;
};
WZ_FN Run run_a(const RowA& row, int k, const Problem& p) {
#if CONVOLUTION
  const int tap = k / CHANNELS_PADDED, c = k - tap * CHANNELS_PADDED;
  const int h = row.h + tap / FILTER_W * DILATION_H, w = row.w + tap % FILTER_W * DILATION_W;
  const bool inside = row.inside && tap < TAPS && h >= 0 && h < p.in_h && w >= 0 && w < p.in_w;
  return {row.base + h * p.x_h + w * p.x_w + c * p.x_c, p.x_c, inside ? max(0, min(RUN, CHANNELS - c)) : 0};
#else
  return {row.base + k * p.a_k, p.a_k, row.inside ? max(0, min(RUN, K_TRUE - k)) : 0};
#endif
}
WZ_FN Run run_b(int column, int k, i64 origin, const Problem& p) {
  return {origin + column * p.b_n + k * p.b_k, p.b_k, column < kColumns ? max(0, min(RUN, K_B - k)) : 0};
}
