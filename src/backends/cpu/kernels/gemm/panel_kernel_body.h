// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by panel_kernel_<set>.cpp.
#pragma once
#include <utility>

#include "backends/cpu/kernels/gemm/panel_kernel.h"
#include "backends/cpu/simd.h"

namespace wootz::WOOTZ_SIMD {

/// Vectors in a full panel, and rows of the register tile for a panel of NV vectors. AVX-512 has 32
/// registers: 6 x 4 accumulators, 4 of B, 1 of A; the others have 16: 6 x 2, 2 and 1.
inline constexpr int kPanelVectors = kWidth == 16 ? 4 : 2;
constexpr int tile_rows(int vectors) {
  if (kWidth == 16) return vectors == 4 ? 6 : 8;
  return vectors == 2 ? (kWidth == 8 ? 6 : 4) : 8;
}

/// Whether every row of the tile is zero in the segment.
template <int MR>
WOOTZ_INLINE bool is_outside(const PanelArgs& g, int64_t segment, int64_t row) {
  const float* const* rows = g.rows + segment * g.rows_pitch + row;
  bool outside = true;
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i) outside = outside && rows[i] == g.zeros;
  return outside;
}

/// With kFetch, a line from `ahead` on is fetched into the second-level cache with every step of k.
template <int MR, int NV, bool kIndirect, bool kFetch = false>
void panel_tile(const PanelArgs& g, int64_t row, const float* ahead = nullptr) {
  float* c = g.c + row * g.ldc;
  const int last = g.n - (NV - 1) * kWidth;  // columns of the last vector
// The lines of C are wanted for writing only at the end: their misses hide behind the k loop.
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) __builtin_prefetch(c + i * g.ldc + kWidth * j, 1);
  Vec acc[MR][NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) {
    Vec init = set1(0);
    if (g.bias) init = j + 1 < NV ? load(g.bias + kWidth * j) : load_n(g.bias + kWidth * j, last);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) acc[i][j] = init;
  }
  if (g.addend) {
    const float* from = g.addend + row * g.ld_addend;
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        const float* at = from + i * g.ld_addend + kWidth * j;
        acc[i][j] = add(acc[i][j], j + 1 < NV ? load(at) : load_n(at, last));
      }
  }
  const float* b = g.b;
  for (int64_t s = 0; s < g.segments; ++s) {
    if constexpr (kIndirect)
      if (g.zeros && is_outside<MR>(g, s, row)) {
        b += g.segment_length * g.ldb;
        continue;
      }
    const float* a[MR];
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
      a[i] = kIndirect ? g.rows[s * g.rows_pitch + row + i] + g.rows_offset
                       : g.a + (row + i) * g.lda + s * g.segment_stride;
    for (int64_t p = 0; p < g.segment_length; ++p, b += g.ldb) {
      if constexpr (kFetch) _mm_prefetch(reinterpret_cast<const char*>(ahead + p * 16), _MM_HINT_T1);
      Vec bv[NV];
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) bv[j] = load(b + kWidth * j);
#pragma GCC unroll 8
      for (int i = 0; i < MR; ++i) {
        const Vec av = set1(a[i][p]);
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) acc[i][j] = fmadd(av, bv[j], acc[i][j]);
      }
    }
  }
  const Vec low = set1(g.low), high = set1(g.high);
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      const Vec v = min(high, max(low, acc[i][j]));
      float* to = c + i * g.ldc + kWidth * j;
      if (j + 1 < NV || last == kWidth)
        store(to, v);
      else
        store_n(to, v, last);
    }
}

using TileFunction = void (*)(const PanelArgs&, int64_t, const float*);

/// As many steps of k as a tile has, times this many tiles, fetch all of the next rows of B.
template <int NV>
inline constexpr int64_t kFetchTiles = NV* kWidth / 16;
template <int NV, bool kIndirect>
inline constexpr bool kCanFetch = kWidth == 16 && NV == kPanelVectors && !kIndirect;

/// The rows are cut evenly, so that no call is left with one or two of them.
template <int NV, bool kIndirect, int... kRows>
WOOTZ_INLINE void panel_rows(const PanelArgs& g, std::integer_sequence<int, kRows...>) {
  static constexpr TileFunction tiles[] = {panel_tile<kRows + 1, NV, kIndirect>...};
  static constexpr TileFunction fetching[] = {
      panel_tile<kRows + 1, NV, kIndirect, kCanFetch<NV, kIndirect>>...};
  constexpr int64_t most = sizeof...(kRows);
  const int64_t cuts = (g.m + most - 1) / most;
  // The first tile waits for its own panel; the next ones have time to spare.
  const bool fetches =
      kCanFetch<NV, kIndirect> && g.fetches_next && g.segments == 1 && cuts > kFetchTiles<NV>;
  const float* ahead = g.b + g.segment_length * g.ldb;
  for (int64_t i = 0; i < cuts; ++i) {
    const int64_t r0 = i * g.m / cuts, r1 = (i + 1) * g.m / cuts;
    const bool fetch = fetches && i >= 1 && i <= kFetchTiles<NV>;
    (fetch ? fetching : tiles)[r1 - r0 - 1](g, r0, ahead + (i - 1) * 16 * g.segment_length);
  }
}

template <int NV>
WOOTZ_INLINE void panel_width(const PanelArgs& g) {
  using Rows = std::make_integer_sequence<int, tile_rows(NV)>;
  if (g.rows)
    panel_rows<NV, true>(g, Rows{});
  else
    panel_rows<NV, false>(g, Rows{});
}

inline void panel_product(const PanelArgs& g) {
  switch ((g.n + kWidth - 1) / kWidth) {
    case 1: return panel_width<1>(g);
    case 2: return panel_width<2>(g);
    case 3: return panel_width < kPanelVectors >= 3 ? 3 : 1 > (g);
    case 4: return panel_width < kPanelVectors >= 4 ? 4 : 1 > (g);
    default: return;
  }
}

/// One row, from memory rather than from the cache. Every element is one chain over k, as in panel_tile: a
/// row has the same bits alone and among others.
template <int NV>
void vector_panel(const PanelArgs& g) {
  constexpr int64_t kAhead = 2048;  // floats: far enough that the lines come from memory in time
  const int last = g.n - (NV - 1) * kWidth;
  const float* b = g.b;
  Vec acc[NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j)
    acc[j] = g.bias ? (j + 1 < NV ? load(g.bias + kWidth * j) : load_n(g.bias + kWidth * j, last)) : set1(0);
#pragma GCC unroll 2
  for (int64_t p = 0; p < g.segment_length; ++p, b += g.ldb) {
#pragma GCC unroll 8
    for (int j = 0; j < NV; j += 16 / kWidth)
      _mm_prefetch(reinterpret_cast<const char*>(b + kWidth * j + kAhead), _MM_HINT_T0);
    const Vec x = set1(g.a[p]);
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) acc[j] = fmadd(x, load(b + kWidth * j), acc[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j)
    store_n(g.c + kWidth * j, min(set1(g.high), max(set1(g.low), acc[j])), j + 1 < NV ? kWidth : last);
}

inline void vector_product(const PanelArgs& g) {
  switch ((g.n + kWidth - 1) / kWidth) {
    case 1: return vector_panel<1>(g);
    case 2: return vector_panel<2>(g);
    case 3: return vector_panel < kPanelVectors >= 3 ? 3 : 1 > (g);
    case 4: return vector_panel < kPanelVectors >= 4 ? 4 : 1 > (g);
    default: return;
  }
}

}  // namespace wootz::WOOTZ_SIMD
