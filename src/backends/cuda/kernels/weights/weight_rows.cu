// SPDX-License-Identifier: Apache-2.0
// Up to 16 rows times weights of 8 or 4 bits, or of which two of every four along k are 0: D[row, column] = finish(A[row, k] *
// (q[column, k] - zero) * scale). The time is that of reading the weights.
//
// Weights come in tiles of 16 columns as weight_tiles.h packs them: a warp reads a chunk of a tile, 512 bytes, at once; lane l
// has columns l / 4 and l / 4 + 8 and of every 16 along k the four from 4 (l % 4) on. So unpacked they are the left operand of
// the matrix unit (USE_MMA), whose sums take any order along k; elsewhere a lane multiplies them in float32. The warps of a
// block share the chunks of TILES tiles and add up at the end. The first chunks are asked for before the kernel that makes A
// has ended.
//
// FORM: 0 bytes, 1 nibbles, 2 float8e4m3fn (times 2^-8, which the scales make up for), 3 float8e5m2; 4 two elements of every
// four, of 16 bits, 5 the same of float32: their places are `extra`, two bits each. BLOCK: elements along k
// that share a scale, a multiple of 16; 0: one for each column. `extra` has zero points
// where they differ (HAS_ZEROS), as large as the stored integers, which have no sign.
#include "weights/unpack.cuh"

constexpr int kSteps = FORM == 1 ? 4 : FORM == 5 ? 1 : 2;  // of 16 along k, a chunk
constexpr int kChunk = 16 * kSteps, kChunks = (K + kChunk - 1) / kChunk;
constexpr int kBlocks = BLOCK ? (K + BLOCK - 1) / BLOCK : 1;
constexpr int kGroups = (ROWS + 7) / 8;  // of activation rows, each a call of the matrix unit
constexpr int kAhead = TILES >= 4 ? 2 : 4;
constexpr int kColumns = 16 * TILES;
// Steps that share a scale, within a chunk.
constexpr int kShared = BLOCK == 0 || BLOCK % kChunk == 0 ? kSteps : BLOCK % 32 == 0 ? 2 : 1;
static_assert(BLOCK % 16 == 0 && kSteps % kShared == 0);

// Four neighbours along k of a row of A, as pairs of 16 bits or as floats; zeros beyond the ends.
WZ_FN void read_four(wz::Vector<Element, 4>& to, const Element* a, i64 a_row, int row, int k, bool aligned) {
  const bool inside = row < ROWS;
  if (A_VECTORS && aligned && K % 4 == 0) {
    if (inside && k < K)
      wz::load_vector<4>(to, a + row * a_row + k, true);
    else
#pragma unroll
      for (int i = 0; i < 4; ++i) to.at[i] = wz::store<Element>(0.0f);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) to.at[i] = inside && k + i < K ? a[row * a_row + k + i] : wz::store<Element>(0.0f);
}

struct Sums {
#if USE_MMA
  float at[kGroups][4] = {};
#else
  float at[2][ROWS] = {};  // of this lane's share of k
#endif
  WZ_FN void add(const Sums& other, float first, float second) {
#if USE_MMA
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      at[g][0] += first * other.at[g][0], at[g][1] += first * other.at[g][1];
      at[g][2] += second * other.at[g][2], at[g][3] += second * other.at[g][3];
    }
#else
#pragma unroll
    for (int m = 0; m < ROWS; ++m) at[0][m] += first * other.at[0][m], at[1][m] += second * other.at[1][m];
#endif
  }
};

// The rows of A for one chunk.
struct Activations {
#if USE_MMA
  u32 pair[kSteps][kGroups][2];
#else
  float at[kSteps][ROWS][4];
#endif
  WZ_FN void read(const Element* a, i64 a_row, int chunk, bool aligned) {
    const int lane = threadIdx.x % 32, k0 = chunk * kChunk + lane % 4 * 4;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      wz::Vector<Element, 4> v;
#if USE_MMA
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        read_four(v, a, a_row, g * 8 + lane / 4, k0 + 16 * s, aligned);
        pair[s][g][0] = v.at[0].bits | (u32)v.at[1].bits << 16;
        pair[s][g][1] = v.at[2].bits | (u32)v.at[3].bits << 16;
      }
#else
#pragma unroll
      for (int m = 0; m < ROWS; ++m) {
        read_four(v, a, a_row, m, k0 + 16 * s, aligned);
#pragma unroll
        for (int i = 0; i < 4; ++i) at[s][m][i] = wz::load(v.at[i]);
      }
#endif
    }
  }
};

WZ_FN void multiply_step(Sums& sums, const Words& words, int s, const Activations& x, const Zeros& zeros) {
#if USE_MMA
  u32 w[4];
  unpack_pairs(w, words, s, zeros);
#pragma unroll
  for (int g = 0; g < kGroups; ++g) wz::multiply_16x8x16<!kIsHalf<Element>>(sums.at[g], w, x.pair[s][g]);
#else
  float w[2][4];
  unpack_floats(w, words, s, zeros);
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int m = 0; m < ROWS; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums.at[r][m] += w[r][i] * x.at[s][m][i];
#endif
}

WZ_FN void multiply_chunk(Sums& sums, const Words& words, int chunk, int tile, const Activations& x, const float* scales,
                          const u8* zeros, const Zeros& of_columns) {
  const int column = threadIdx.x % 32 / 4;
#if BLOCK == 0
#pragma unroll
  for (int s = 0; s < kSteps; ++s) multiply_step(sums, words, s, x, of_columns);
#else
#pragma unroll
  for (int s0 = 0; s0 < kSteps; s0 += kShared) {
    const int block = (chunk * kChunk + s0 * 16) / BLOCK;
    if (block >= kBlocks) break;
    const int at = (tile * kBlocks + block) * 16 + column;
    const Zeros z = zeros_at(zeros, at);
    Sums part;
#pragma unroll
    for (int s = s0; s < s0 + kShared; ++s) multiply_step(part, words, s, x, z);
    sums.add(part, scales[at], scales[at + 8]);
  }
#endif
}

// Where the sums of this lane belong in the block's [ROWS][kColumns].
WZ_FN void leave(float* to, Sums& sums, int tile) {
  const int lane = threadIdx.x % 32, column = tile * 16 + lane / 4;
#if USE_MMA
#pragma unroll
  for (int g = 0; g < kGroups; ++g)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = g * 8 + lane % 4 * 2 + i % 2;
      if (row < ROWS) to[row * kColumns + column + i / 2 * 8] = sums.at[g][i];
    }
#else
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      float sum = sums.at[r][m];
      sum += wz::shuffle_xor(sum, 1);
      sum += wz::shuffle_xor(sum, 2);
      if (lane % 4 == 0) to[m * kColumns + column + r * 8] = sum;
    }
#endif
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    weight_rows(const Element* __restrict__ a, const u8* __restrict__ weights, const float* __restrict__ scales,
                const u8* __restrict__ extra, i64 a_row, TAIL_PARAMETERS) {
  __shared__ float parts[WARPS][ROWS * kColumns];
  const Tail tail = TAIL;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile0 = blockIdx.x * TILES;
  Words held[kAhead][TILES];
  const auto fetch = [&](Words(&to)[TILES], int chunk) {
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      const i64 at = ((i64)(tile0 + t) * kChunks + chunk) * 32 + lane;
      to[t] = {read_once(weights + at * 16), FORM >= 4 ? (u32) reinterpret_cast<const u16*>(extra)[at] : 0u};
    }
  };
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (warp + i * WARPS < kChunks) fetch(held[i], warp + i * WARPS);
  Zeros of_columns[TILES];
#pragma unroll
  for (int t = 0; t < TILES; ++t) of_columns[t] = zeros_at(extra, BLOCK == 0 ? (tile0 + t) * 16 + lane / 4 : 0);
  wz::start_next();
  wz::after_previous();

  const bool aligned = wz::is_aligned(a);
  Sums sums[TILES];
  for (int first = warp; first < kChunks; first += WARPS * kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int chunk = first + i * WARPS, next = chunk + kAhead * WARPS;
      if (chunk >= kChunks) break;
      Activations x;
      x.read(a, a_row, chunk, aligned);
#pragma unroll
      for (int t = 0; t < TILES; ++t)
        multiply_chunk(sums[t], held[i][t], chunk, tile0 + t, x, scales, extra, of_columns[t]);
      if (next < kChunks) fetch(held[i], next);
    }
  }
#pragma unroll
  for (int t = 0; t < TILES; ++t) leave(parts[warp], sums[t], t);
  __syncthreads();

  for (int i = threadIdx.x; i < ROWS * kColumns; i += 32 * WARPS) {
    const int row = i / kColumns, column = i % kColumns, col = tile0 * 16 + column;
    if (col >= N) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum += parts[w][i];
    if (BLOCK == 0 && FORM < 4) sum *= scales[col];
    float x[1] = {sum};
    const float none[1] = {};
    const Row at = row_at(0, row, ROWS, tail);
    finish<1>(x, none, none, at, col, tail);
    store_result<1>(x, at, col, tail);
  }
}
