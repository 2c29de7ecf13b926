// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of any size, strides and alignment on the tensor cores of sm_75 and newer: D[row, column] =
// finish(A[row, k] * B[column, k]).
//
// One block a tile, BM x BN, K in steps of 32 through STAGES buffers that asynchronous copies fill (plain loads on sm_75). An
// operand lies in shared memory as it does in global memory: rows of k, or where rows (columns) are adjacent, k of rows; the
// matrix loads transpose the latter. Where neither is adjacent or aligned, elements are gathered one by one.
//
// BYTES: 8-bit integers along k with exact sums, of which `correction` (what A's zero point adds to each column) is subtracted; a
// step has 64 of them, so that rows in shared memory are as long.
#if BYTES
#define RUN 16
#endif
#include "gemm/gather.cuh"

constexpr int kUnits = 32;                        // of 16 bits along k, a step
constexpr int kBK = kUnits * 2 / sizeof(Element);  // elements
#if BYTES
using Sum = i32;
using ElementB = i8;  // or unsigned: B_SIGNED
#else
using Sum = float;
using ElementB = Element;
#endif
constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kWarpRows = BM / WARPS_M, kWarpCols = BN / WARPS_N;
constexpr int kBlocksM = kWarpRows / 16, kBlocksN = kWarpCols / 16;
constexpr int kBytesA = BM * kUnits * 2, kBytesB = BN * kUnits * 2, kBytesStage = kBytesA + kBytesB;
constexpr int kStepsK = (K + kBK - 1) / kBK;
// How an operand is read: along k, along its rows, or element by element.
enum { kAlongK = 0, kAlongRows = 1, kElements = 2 };
static_assert(kWarpRows % 16 == 0 && kWarpCols % 16 == 0);
static_assert((A_MODE != kAlongRows || BM >= 64) && (B_MODE != kAlongRows || BN >= 64));

template <int kBytes>
WZ_FN void copy_bytes(u32 to, const void* from, int valid) {
#ifdef WZ_EMULATED
  memset(emulation::shared_at(to), 0, kBytes);
  memcpy(emulation::shared_at(to), from, valid);
#elif __CUDA_ARCH__ >= 800
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes), "r"(valid) : "memory");
#else
  u32 words[kBytes / 4] = {};
  if (valid == kBytes) {
#pragma unroll
    for (int i = 0; i < kBytes / 4; ++i) words[i] = static_cast<const u32*>(from)[i];
  } else {
#pragma unroll
    for (int i = 0; i < kBytes / 2; ++i)
      if (2 * i < valid) words[i / 2] |= (u32) static_cast<const u16*>(from)[i] << (i % 2 * 16);
  }
#pragma unroll
  for (int i = 0; i < kBytes / 4; ++i)
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + 4 * i), "r"(words[i]) : "memory");
#endif
}
WZ_FN void copies_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kPending>
WZ_FN void copies_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

// Sixteen bytes of shared memory from a run of up to RUN elements. `aligned`: the run's vectors of kVec elements are.
template <int kVec>
WZ_FN void copy_run(u32 to, const Element* from, const Run& run, bool aligned) {
  const Element* at = from + (run.count > 0 ? run.offset : 0);
  if constexpr (kVec > 1) {
    if (aligned) {
#pragma unroll
      for (int i = 0; i < RUN; i += kVec) {
        constexpr int kSize = sizeof(Element);
        copy_bytes<kSize * kVec>(to + kSize * i, run.count > i ? at + i : at, kSize * max(0, min(kVec, run.count - i)));
      }
      return;
    }
  }
  u32 words[4] = {};
#pragma unroll
  for (int i = 0; i < RUN; ++i)
#if BYTES
    if (i < run.count) words[i / 4] |= (u32)(u8)at[i * run.step] << (i % 4 * 8);
#else
    if (i < run.count) words[i / 2] |= (u32)at[i * run.step].bits << (i % 2 * 16);
#endif
#ifdef WZ_EMULATED
  memcpy(emulation::shared_at(to), words, sizeof words);
#else
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
#endif
}

// Places of sixteen-byte chunks, so that eight rows of one matrix load meet no bank twice.
WZ_FN u32 place_along_k(int row, int chunk) { return row * (kUnits * 2) + ((chunk ^ (row >> 1 & 3)) << 4); }
template <int kRows>
WZ_FN u32 place_along_rows(int k, int chunk) {
  return k * (kRows * 2) + ((chunk ^ (k & 7)) << 4);
}

struct Loader {
  const Element *a, *b;
  Origin origin;
  Tile tile;
  bool a_aligned, b_aligned;
  RowA rows[(BM * 4 + kThreads - 1) / kThreads];  // of this thread's chunks of A

  WZ_FN void prepare(const Problem& p) {
    if constexpr (A_MODE != kAlongRows) {
#pragma unroll
      for (int i = 0; i < (BM * 4 + kThreads - 1) / kThreads; ++i)
        rows[i] = row_a(tile.row + ((int)threadIdx.x + i * kThreads) / 4, origin.a, p);
    }
  }
  WZ_FN void load(u32 stage, int k0, const Problem& p) const {
#pragma unroll
    for (int i = 0; i < (BM * 4 + kThreads - 1) / kThreads; ++i) {
      const int chunk = threadIdx.x + i * kThreads;
      if (BM * 4 % kThreads != 0 && chunk >= BM * 4) break;
      if constexpr (A_MODE == kAlongRows) {
        const int k = chunk / (BM / 8), m = chunk % (BM / 8), row = tile.row + m * 8;
        const Run run = {origin.a + row * p.a_row + (k0 + k) * p.a_k, p.a_row,
                         k0 + k < K_TRUE ? max(0, min(8, p.rows - row)) : 0};
        copy_run<A_VEC>(stage + place_along_rows<BM>(k, m), a, run, a_aligned);
      } else {
        copy_run<A_MODE == kElements ? 1 : A_VEC>(stage + place_along_k(chunk / 4, chunk % 4), a,
                                                  run_a(rows[i], k0 + chunk % 4 * RUN, p), a_aligned);
      }
    }
#pragma unroll
    for (int i = 0; i < (BN * 4 + kThreads - 1) / kThreads; ++i) {
      const int chunk = threadIdx.x + i * kThreads;
      if (BN * 4 % kThreads != 0 && chunk >= BN * 4) break;
      const u32 to = stage + kBytesA;
      if constexpr (B_MODE == kAlongRows) {
        const int k = chunk / (BN / 8), n = chunk % (BN / 8), col = tile.col + n * 8;
        const Run run = {origin.b + col * p.b_n + (k0 + k) * p.b_k, p.b_n,
                         k0 + k < K_B ? max(0, min(8, kColumns - col)) : 0};
        copy_run<B_VEC>(to + place_along_rows<BN>(k, n), b, run, b_aligned);
      } else {
        const Run run = run_b(tile.col + chunk / 4, k0 + chunk % 4 * RUN, origin.b, p);
        copy_run<B_MODE == kElements ? 1 : B_VEC>(to + place_along_k(chunk / 4, chunk % 4), b, run, b_aligned);
      }
    }
  }
};

#ifdef WZ_EMULATED
WZ_FN void load_matrices(u32 address, u32 (&v)[4]) { wz::load_matrices(v, emulation::shared_at(address)); }
WZ_FN void load_matrices_transposed(u32 address, u32 (&v)[4]) {
  wz::load_matrices_transposed(v, emulation::shared_at(address));
}
WZ_FN void multiply(Sum (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  const u32 b[2] = {b0, b1};
#if BYTES
  wz::multiply_16x8x32<(Element)-1 < 0, B_SIGNED>(d, a, b);
#else
  wz::multiply_16x8x16<!kIsHalf<Element>>(d, a, b);
#endif
}
#else
WZ_FN void load_matrices(u32 address, u32 (&v)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}
WZ_FN void load_matrices_transposed(u32 address, u32 (&v)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}

// 16 rows x 8 columns += 16 x 16 (bytes: 16 x 32) of A times as many of B.
#if BYTES
#if __CUDA_ARCH__ >= 800
#define MULTIPLY_BYTES(A, B)                                                                                                     \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." A "." B ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#else
#define MULTIPLY_8X8X16(A, B, i, x, y)                                                                                           \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." A "." B ".s32 {%0, %1}, {%2}, {%3}, {%0, %1};"                             \
               : "+r"(d[i]), "+r"(d[i + 1])                                                                                    \
               : "r"(x), "r"(y))
#define MULTIPLY_BYTES(A, B)                                            \
  MULTIPLY_8X8X16(A, B, 0, a[0], b0); MULTIPLY_8X8X16(A, B, 2, a[1], b0); \
  MULTIPLY_8X8X16(A, B, 0, a[2], b1); MULTIPLY_8X8X16(A, B, 2, a[3], b1)
#endif
WZ_FN void multiply(Sum (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if B_SIGNED
  if constexpr ((Element)-1 < 0) {
    MULTIPLY_BYTES("s8", "s8");
  } else {
    MULTIPLY_BYTES("u8", "s8");
  }
#else
  if constexpr ((Element)-1 < 0) {
    MULTIPLY_BYTES("s8", "u8");
  } else {
    MULTIPLY_BYTES("u8", "u8");
  }
#endif
}
#else
WZ_FN void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kIsHalf<Element>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b0));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}
#endif
#endif

WZ_FN void multiply_stage(u32 stage, Sum (&sum)[kBlocksM][2 * kBlocksN][4]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = warp / WARPS_N * kWarpRows, col0 = warp % WARPS_N * kWarpCols;
#pragma unroll
  for (int k = 0; k < kUnits; k += 16) {
    u32 a[kBlocksM][4], b[kBlocksN][4];
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      if constexpr (A_MODE == kAlongRows)
        load_matrices_transposed(stage + place_along_rows<BM>(k + lane / 16 * 8 + lane % 8, (row0 + i * 16) / 8 + lane / 8 % 2),
                                 a[i]);
      else
        load_matrices(stage + place_along_k(row0 + i * 16 + lane % 16, k / 8 + lane / 16), a[i]);
    }
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      if constexpr (B_MODE == kAlongRows)
        load_matrices_transposed(stage + kBytesA + place_along_rows<BN>(k + lane / 8 % 2 * 8 + lane % 8,
                                                                        (col0 + j * 16) / 8 + lane / 16),
                                 b[j]);
      else
        load_matrices(stage + kBytesA + place_along_k(col0 + j * 16 + lane / 16 * 8 + lane % 8, k / 8 + lane / 8 % 2), b[j]);
    }
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i)
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        multiply(sum[i][2 * j], a[i], b[j][0], b[j][1]);
        multiply(sum[i][2 * j + 1], a[i], b[j][2], b[j][3]);
      }
  }
}

template <int V>
WZ_FN void write_run(const Sum* sum, const Row& at, int col, int group_col, const Tail& tail, const i32* correction) {
  const float none[V] = {};
  float x[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
#if BYTES
    x[i] = (float)(correction ? sum[i] - correction[group_col + col + i] : sum[i]);
#else
    x[i] = sum[i];
#endif
  finish<V>(x, none, none, at, group_col + col, tail);
  store_result<V>(x, at, group_col + col, tail);
}

WZ_FN void write_tile(const Sum (&sum)[kBlocksM][2 * kBlocksN][4], const Tile& tile, const Problem& p, const Tail& tail, const i32* correction) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = tile.row + warp / WARPS_N * kWarpRows + lane / 4;
  const int col0 = tile.col + warp % WARPS_N * kWarpCols + lane % 4 * 2;
  const int group_col = GROUPS > 1 ? tile.matrix * kColumns : 0;
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i)
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      const int row = row0 + i * 16 + lower * 8;
      if (row >= p.rows) continue;
      const Row at = row_at(GROUPS > 1 ? 0 : tile.matrix, row, p.rows, tail);
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; ++j) {
        const int col = col0 + j * 8;
        const Sum* f = sum[i][j] + lower * 2;
        if constexpr (kColumns % 2 == 0) {
          if (col < kColumns) write_run<2>(f, at, col, group_col, tail, correction);
        } else {
          if (col < kColumns) write_run<1>(f, at, col, group_col, tail, correction);
          if (col + 1 < kColumns) write_run<1>(f + 1, at, col + 1, group_col, tail, correction);
        }
      }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ a, const ElementB* __restrict__ b, const i32* __restrict__ correction,
         const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 stages = (u32)__cvta_generic_to_shared(memory);
  const Tail tail = TAIL;
  wz::start_next();
  wz::after_previous();
  Loader loader;
  loader.a = a, loader.b = (const Element*)b;
  loader.tile = tile_at(blockIdx.x, p, BM, BN);
  loader.origin = origin_of(loader.tile.matrix, p);
  loader.a_aligned = wz::is_aligned(a), loader.b_aligned = wz::is_aligned(b);
  loader.prepare(p);

  Sum sum[kBlocksM][2 * kBlocksN][4] = {};
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < kStepsK) loader.load(stages + s * kBytesStage, s * kBK, p);
    copies_commit();
  }
  for (int step = 0; step < kStepsK; ++step) {
    copies_wait<STAGES - 2>();
    __syncthreads();
    const int next = step + STAGES - 1;
    if (next < kStepsK) loader.load(stages + next % STAGES * kBytesStage, next * kBK, p);
    copies_commit();
    multiply_stage(stages + step % STAGES * kBytesStage, sum);
  }
  write_tile(sum, loader.tile, p, tail, correction);
}
