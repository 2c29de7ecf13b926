// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of any size, strides and alignment with float32 multiplications and sums, on every GPU: D[row,
// column] = finish(A[row, k] * B[column, k]). Elements are float32, or 16-bit floats where there are no tensor cores for them.
//
// 256 threads a tile of BM x BN, multiples of 64; a thread owns 4 x 4 results in each 64 x 64 part. Two buffers: the next
// elements are in registers while the present ones are multiplied. A_VECTORS, B_VECTORS: four neighbours along k are read at once
// where the operand begins on 16 bytes. SPLITS > 1: as many blocks share the sum of a tile and leave their parts in a workspace,
// [split, matrix, row, column], which add_parts() adds and finishes.
#include "gemm/gather.cuh"

constexpr int kBK = 16;
constexpr int kThreads = 256;
constexpr int kStepsK = (K + kBK - 1) / kBK;
constexpr int kPitchA = BM + 4, kPitchB = BN + 4;  // floats; fewer bank conflicts when rows of k are written
constexpr int kPartsM = BM / 64, kPartsN = BN / 64;

// Elements of an operand that a thread moves: `kRows` rows of kBK, neighbours in a warp are neighbours in memory.
template <int kRows, bool kAlongK, bool kVectors>
struct Share {
  static constexpr int kEach = kVectors ? 4 : 1;
  static constexpr int kLoads = kRows * kBK / kThreads / kEach;
  static_assert(kLoads > 0 && (kAlongK || !kVectors));
  WZ_FN static int row(int i) {
    const int at = (int)threadIdx.x + i * kThreads;
    return kAlongK ? at / (kBK / kEach) : at % kRows;
  }
  WZ_FN static int k(int i) {
    const int at = (int)threadIdx.x + i * kThreads;
    return kAlongK ? at % (kBK / kEach) * kEach : at / kRows;
  }
};
using ShareA = Share<BM, A_ALONG_K, A_VECTORS>;
using ShareB = Share<BN, B_ALONG_K, B_VECTORS>;

template <int kEach>
WZ_FN void read_run(float* to, const Element* from, const Run& run, bool aligned) {
  if constexpr (kEach > 1) {
    if (aligned && run.count >= kEach) {
      wz::Vector<Element, kEach> v;
      wz::load_vector<kEach>(v, from + run.offset, true);
#pragma unroll
      for (int i = 0; i < kEach; ++i) to[i] = wz::load(v.at[i]);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) to[i] = run.count > i ? wz::load(from[run.offset + i * run.step]) : 0.0f;
}

struct Loader {
  const Element *a, *b;
  Origin origin;
  Tile tile;
  bool a_aligned, b_aligned;
  RowA rows[A_ALONG_K ? ShareA::kLoads : 1];
  float held_a[ShareA::kLoads * ShareA::kEach], held_b[ShareB::kLoads * ShareB::kEach];

  WZ_FN void prepare(const Problem& p) {
#pragma unroll
    for (int i = 0; i < (A_ALONG_K ? ShareA::kLoads : 1); ++i) rows[i] = row_a(tile.row + ShareA::row(i), origin.a, p);
  }
  WZ_FN void fetch(int k0, const Problem& p) {
#pragma unroll
    for (int i = 0; i < ShareA::kLoads; ++i)
      read_run<ShareA::kEach>(held_a + i * ShareA::kEach, a, run_a(rows[A_ALONG_K ? i : 0], k0 + ShareA::k(i), p), a_aligned);
#pragma unroll
    for (int i = 0; i < ShareB::kLoads; ++i)
      read_run<ShareB::kEach>(held_b + i * ShareB::kEach, b, run_b(tile.col + ShareB::row(i), k0 + ShareB::k(i), origin.b, p),
                              b_aligned);
  }
  WZ_FN void put(float* to_a, float* to_b) const {
#pragma unroll
    for (int i = 0; i < ShareA::kLoads * ShareA::kEach; ++i)
      to_a[(ShareA::k(i / ShareA::kEach) + i % ShareA::kEach) * kPitchA + ShareA::row(i / ShareA::kEach)] = held_a[i];
#pragma unroll
    for (int i = 0; i < ShareB::kLoads * ShareB::kEach; ++i)
      to_b[(ShareB::k(i / ShareB::kEach) + i % ShareB::kEach) * kPitchB + ShareB::row(i / ShareB::kEach)] = held_b[i];
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

constexpr int kRun = kColumns % 4 == 0 ? 4 : 1;  // columns that are finished together
// Blocks that share a multiprocessor: reading A element by element takes many registers.
constexpr int kNeighbours = A_ALONG_K && !A_VECTORS ? 1 : 2;

extern "C" __global__ void __launch_bounds__(kThreads, kNeighbours)
    gemm(const Element* __restrict__ a, const Element* __restrict__ b, float* __restrict__ parts,
         const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  alignas(16) __shared__ float shared_a[2][kBK * kPitchA], shared_b[2][kBK * kPitchB];
  const Tail tail = TAIL;
  const int tiles = p.tiles_m * p.tiles_n * p.matrices, split = SPLITS > 1 ? blockIdx.x / tiles : 0;
  const int first = kStepsK * split / SPLITS, end = kStepsK * (split + 1) / SPLITS;
  wz::start_next();
  wz::after_previous();
  Loader loader;
  loader.a = a, loader.b = b;
  loader.a_aligned = wz::is_aligned(a), loader.b_aligned = wz::is_aligned(b);
  loader.tile = tile_at(blockIdx.x - split * tiles, p, BM, BN);
  loader.origin = origin_of(loader.tile.matrix, p);
  loader.prepare(p);
  loader.fetch(first * kBK, p);
  loader.put(shared_a[first % 2], shared_b[first % 2]);
  __syncthreads();

  const int row0 = threadIdx.x / 16 * 4, col0 = threadIdx.x % 16 * 4;
  float sum[4 * kPartsM][4 * kPartsN] = {};
  for (int step = first; step < end; ++step) {
    if (step + 1 < end) loader.fetch((step + 1) * kBK, p);
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
    if (step + 1 < end) loader.put(shared_a[(step + 1) % 2], shared_b[(step + 1) % 2]);
    __syncthreads();
  }

  const Tile tile = loader.tile;
  const int group_col = GROUPS > 1 ? tile.matrix * kColumns : 0;
#pragma unroll
  for (int i = 0; i < 4 * kPartsM; ++i) {
    const int row = tile.row + row0 + i / 4 * 64 + i % 4;
    if (row >= p.rows) continue;
#if SPLITS > 1
    float* to = parts + (((i64)split * p.matrices + tile.matrix) * p.rows + row) * kColumns;
#else
    const Row at = row_at(GROUPS > 1 ? 0 : tile.matrix, row, p.rows, tail);
#endif
#pragma unroll
    for (int j = 0; j < 4 * kPartsN; j += kRun) {
      const int col = tile.col + col0 + j / 4 * 64 + j % 4;
      if (col >= kColumns) continue;
#if SPLITS > 1
#pragma unroll
      for (int c = 0; c < kRun; ++c) to[col + c] = sum[i][j + c];
#else
      write_run<kRun>(sum[i] + j, at, col, group_col, tail);
#endif
    }
  }
}

// A run of columns of one row a thread.
extern "C" __global__ void __launch_bounds__(kThreads)
    add_parts(const float* __restrict__ parts, const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  const Tail tail = TAIL;
  constexpr int kRuns = (kColumns + kRun - 1) / kRun;
  wz::start_next();
  wz::after_previous();
  const i64 all = (i64)p.matrices * p.rows, index = (i64)blockIdx.x * kThreads + threadIdx.x, line = index / kRuns;
  if (line >= all) return;
  const int col = (int)(index - line * kRuns) * kRun, matrix = (int)(line / p.rows), row = (int)(line - (i64)matrix * p.rows);
  float sum[kRun] = {};
#pragma unroll
  for (int s = 0; s < SPLITS; ++s)
#pragma unroll
    for (int c = 0; c < kRun; ++c) sum[c] += parts[((i64)s * all + line) * kColumns + col + c];
  const Row at = row_at(GROUPS > 1 ? 0 : matrix, row, p.rows, tail);
  write_run<kRun>(sum, at, col, GROUPS > 1 ? matrix * kColumns : 0, tail);
}
