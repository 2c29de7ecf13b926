// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of any size, strides and alignment with float32 multiplications and sums, on every GPU: D[row,
// column] = finish(A[row, k] * B[column, k]). Elements are float32, or 16-bit floats where there are no tensor cores for them.
//
// 256 threads a tile of BM x BN, multiples of 64; a thread owns 4 x 4 results in each 64 x 64 part. Two buffers: the next
// elements are in registers while the present ones are multiplied.
#include "gemm/gather.cuh"

constexpr int kBK = 8;
constexpr int kThreads = 256;
constexpr int kStepsK = (K + kBK - 1) / kBK;
constexpr int kPitchA = BM + 4, kPitchB = BN + 4;  // floats; fewer bank conflicts when rows of k are written
constexpr int kLoadsA = BM * kBK / kThreads, kLoadsB = BN * kBK / kThreads;
constexpr int kPartsM = BM / 64, kPartsN = BN / 64;

struct Loader {
  const Element *a, *b;
  Origin origin;
  Tile tile;
  RowA rows[A_ALONG_K ? kLoadsA : 1];
  float held_a[kLoadsA], held_b[kLoadsB];

  // Element i of this thread: neighbours in a warp are neighbours in memory.
  WZ_FN int a_row(int i) const {
    return A_ALONG_K ? ((int)threadIdx.x + i * kThreads) / kBK : ((int)threadIdx.x + i * kThreads) % BM;
  }
  WZ_FN int a_k(int i) const {
    return A_ALONG_K ? ((int)threadIdx.x + i * kThreads) % kBK : ((int)threadIdx.x + i * kThreads) / BM;
  }
  WZ_FN int b_col(int i) const {
    return B_ALONG_K ? ((int)threadIdx.x + i * kThreads) / kBK : ((int)threadIdx.x + i * kThreads) % BN;
  }
  WZ_FN int b_k(int i) const {
    return B_ALONG_K ? ((int)threadIdx.x + i * kThreads) % kBK : ((int)threadIdx.x + i * kThreads) / BN;
  }

  WZ_FN void prepare(const Problem& p) {
#pragma unroll
    for (int i = 0; i < (A_ALONG_K ? kLoadsA : 1); ++i) rows[i] = row_a(tile.row + a_row(i), origin.a, p);
  }
  WZ_FN void fetch(int k0, const Problem& p) {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const Run run = run_a(rows[A_ALONG_K ? i : 0], k0 + a_k(i), p);
      held_a[i] = run.count > 0 ? wz::load(a[run.offset]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const Run run = run_b(tile.col + b_col(i), k0 + b_k(i), origin.b, p);
      held_b[i] = run.count > 0 ? wz::load(b[run.offset]) : 0.0f;
    }
  }
  WZ_FN void put(float* to_a, float* to_b) const {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) to_a[a_k(i) * kPitchA + a_row(i)] = held_a[i];
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) to_b[b_k(i) * kPitchB + b_col(i)] = held_b[i];
  }
};

template <int V>
WZ_FN void write_run(const float* sum, const Row& at, int col, int group_col, const Tail& tail) {
  const float none[V] = {};
  float x[V];
#pragma unroll
  for (int i = 0; i < V; ++i) x[i] = sum[i];
  finish<V>(x, none, none, at, group_col + col, tail);
  store_result<V>(x, at, group_col + col, tail);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ a, const Element* __restrict__ b, const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  alignas(16) __shared__ float shared_a[2][kBK * kPitchA], shared_b[2][kBK * kPitchB];
  const Tail tail = TAIL;
  wz::start_next();
  wz::after_previous();
  Loader loader;
  loader.a = a, loader.b = b;
  loader.tile = tile_at(blockIdx.x, p, BM, BN);
  loader.origin = origin_of(loader.tile.matrix, p);
  loader.prepare(p);
  loader.fetch(0, p);
  loader.put(shared_a[0], shared_b[0]);
  __syncthreads();

  const int row0 = threadIdx.x / 16 * 4, col0 = threadIdx.x % 16 * 4;
  float sum[4 * kPartsM][4 * kPartsN] = {};
  for (int step = 0; step < kStepsK; ++step) {
    if (step + 1 < kStepsK) loader.fetch((step + 1) * kBK, p);
    const float *from_a = shared_a[step % 2], *from_b = shared_b[step % 2];
#pragma unroll
    for (int k = 0; k < kBK; ++k) {
      float4 x[kPartsM], y[kPartsN];
#pragma unroll
      for (int i = 0; i < kPartsM; ++i) x[i] = *reinterpret_cast<const float4*>(from_a + k * kPitchA + row0 + i * 64);
#pragma unroll
      for (int j = 0; j < kPartsN; ++j) y[j] = *reinterpret_cast<const float4*>(from_b + k * kPitchB + col0 + j * 64);
#pragma unroll
      for (int i = 0; i < kPartsM; ++i)
#pragma unroll
        for (int j = 0; j < kPartsN; ++j) {
          const float xs[4] = {x[i].x, x[i].y, x[i].z, x[i].w}, ys[4] = {y[j].x, y[j].y, y[j].z, y[j].w};
#pragma unroll
          for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int c = 0; c < 4; ++c) sum[4 * i + r][4 * j + c] += xs[r] * ys[c];
        }
    }
    if (step + 1 < kStepsK) loader.put(shared_a[(step + 1) % 2], shared_b[(step + 1) % 2]);
    __syncthreads();
  }

  const Tile tile = loader.tile;
  const int group_col = GROUPS > 1 ? tile.matrix * kColumns : 0;
#pragma unroll
  for (int i = 0; i < 4 * kPartsM; ++i) {
    const int row = tile.row + row0 + i / 4 * 64 + i % 4;
    if (row >= p.rows) continue;
    const Row at = row_at(GROUPS > 1 ? 0 : tile.matrix, row, p.rows, tail);
#pragma unroll
    for (int j = 0; j < kPartsN; ++j) {
      const int col = tile.col + col0 + j * 64;
      if constexpr (kColumns % 4 == 0) {
        if (col < kColumns) write_run<4>(sum[i] + 4 * j, at, col, group_col, tail);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if (col + c < kColumns) write_run<1>(sum[i] + 4 * j + c, at, col + c, group_col, tail);
      }
    }
  }
}
