// SPDX-License-Identifier: Apache-2.0
// GEMM and implicit-GEMM convolution of 8-bit integers for sm_90a: D[row, column] = finish(A[row, k] * B[column, k]), with exact
// sums in int32.
//
// The pipeline is that of gemm_sm90.cu (pipeline_sm90.cuh). A lane of the matrix unit holds columns 2q and 2q + 1 of every eight;
// B's columns come in an order that makes these the result's columns 4q ... 4q + 3 of every sixteen, so that four bytes leave as
// one word. Results leave through shared memory in panels of 64 or 128 bytes (PANEL_BYTES) and bulk copies, bytes after
// quantization, halves as they are; DIRECT: straight from registers, for any type, rows that begin anywhere and strides.
// HAS_CORRECTION: sums begin at minus what the zero point of A adds to them. RESIDUAL_AHEAD: the panels are there twice, and the
// next tile's residual arrives in one half while results leave from the other.

#include "gemm/pipeline_sm90.cuh"

constexpr int kPanelBytes = DIRECT ? 128 : PANEL_BYTES;  // of a row
constexpr int kBytesPanel = 64 * kPanelBytes;
constexpr int kPanelColumns = kPanelBytes / (int)sizeof(Result);
constexpr int kPanels = BN / kPanelColumns;
constexpr int kGroups = BN / 16;  // of columns, of which a lane holds four in each of two rows
static_assert(sizeof(Element) == 1 && BN % 16 == 0 && (DIRECT || BN % kPanelColumns == 0) && !(DIRECT && HAS_RESIDUAL));
static_assert(!BATCHED && !POOL && !B_RESIDENT && B_CONSTANT);

// Byte `at` of a row of a panel under the swizzle of the result's tensor map.
__device__ __forceinline__ u32 in_panel(int row, int at) {
  const int chunk = at / 16 ^ (kPanelBytes == 128 ? row & 7 : row / 2 & 3);
  return row * kPanelBytes + chunk * 16 + at % 16;
}

// Four neighbours of a result or residual as they lie in a panel: as many words as bytes of one.
#if !DIRECT && RESULT_BYTES == 1
using Four = u32[1];
__device__ __forceinline__ void load_four(Four& v, u32 address) { v[0] = load_word(address); }
__device__ __forceinline__ void store_four(u32 address, const Four& v) { store_word(address, v[0]); }
__device__ __forceinline__ void unpack_four(float (&x)[4], const Four& v) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = residual_byte(v[0], i);
}
__device__ __forceinline__ void pack_four(Four& v, const float (&x)[4]) { v[0] = packed_bytes(x); }
#elif !DIRECT
using Four = u32[2];
__device__ __forceinline__ void load_four(Four& v, u32 address) { load_words(address, v); }
__device__ __forceinline__ void store_four(u32 address, const Four& v) { store_words(address, v); }
__device__ __forceinline__ void unpack_four(float (&x)[4], const Four& v) {
  x[0] = low_half<Result>(v[0]), x[1] = high_half<Result>(v[0]);
  x[2] = low_half<Result>(v[1]), x[3] = high_half<Result>(v[1]);
}
__device__ __forceinline__ void pack_four(Four& v, const float (&x)[4]) {
  v[0] = pack<Result>(x[0], x[1]), v[1] = pack<Result>(x[2], x[3]);
}
#endif

// Where the tile's sums begin.
__device__ __forceinline__ void correct(Sum (&sum)[M_BLOCKS][BN / 2], const Tile& tile, const i32* __restrict__ correction,
                                        int lane) {
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const int col = tile.col + group * 16 + lane % 4 * 4;
    i32 c[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = N % BN == 0 || col + i < N ? -correction[col + i] : 0;
#pragma unroll
    for (int block = 0; block < M_BLOCKS; ++block)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = group * 8 + i / 2 * 4 + i % 2;
        sum[block][at] = sum[block][at + 2] = c[i];
      }
  }
}

// A lane's four columns of a group, in the upper or lower of its rows.
__device__ __forceinline__ void sums_of(float (&x)[4], const Sum (&sum)[BN / 2], int group, int lower) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(sum[group * 8 + i / 2 * 4 + lower * 2 + i % 2]);
}

// Operands of the tail are read here even where the tile reaches beyond the last column.
__device__ __forceinline__ int readable(int col) { return N % BN == 0 ? col : min(col, N > 4 ? N - 4 : 0); }

#if DIRECT
__device__ __forceinline__ void store_directly(const Sum (&sum)[BN / 2], const Tile& tile, int first_row, const Problem& p,
                                               const Tail& tail, int lane) {
  const float none[4] = {};
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int row = first_row + lower * 8;
    if (row >= p.rows) continue;
    const Row at = row_at(0, row, p.rows, tail);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int col = tile.col + group * 16 + lane % 4 * 4;
      if (N % BN != 0 && col >= N) continue;
      float x[4];
      sums_of(x, sum, group, lower);
      finish<4>(x, none, none, at, col, tail);
      store_result<4>(x, at, col, tail);
    }
  }
}
#else
// Accesses of shared memory keep their order, so one of a result waits for all of those before it: a batch of residuals is read
// at once, finished in registers, and written at once.
__device__ __forceinline__ void fill_panel(u32 buffer, const Sum (&sum)[BN / 2], int panel, const Tile& tile, const Row (&rows)[2],
                                           const Tail& tail, int row, int lane) {
  constexpr int kInPanel = kPanelColumns / 16, kBatch = BLOCKS == 1 && kInPanel % 4 == 0 ? 4 : kInPanel % 2 == 0 ? 2 : 1;
#pragma unroll
  for (int first = 0; first < kInPanel; first += kBatch) {
    Four four[kBatch][2];
    const auto address = [&](int j, int lower) {
      return buffer + in_panel(row + lower * 8, ((first + j) * 16 + lane % 4 * 4) * (int)sizeof(Result));
    };
    if constexpr (HAS_RESIDUAL) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) load_four(four[j][0], address(j, 0)), load_four(four[j][1], address(j, 1));
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int group = panel * kInPanel + first + j, col = readable(tile.col + group * 16 + lane % 4 * 4);
#pragma unroll
      for (int lower = 0; lower < 2; ++lower) {
        float x[4], residual[4] = {};
        const float none[4] = {};
        sums_of(x, sum, group, lower);
        if constexpr (HAS_RESIDUAL) unpack_four(residual, four[j][lower]);
        finish<4>(x, none, residual, rows[lower], col, tail);
        pack_four(four[j][lower], x);
      }
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) store_four(address(j, 0), four[j][0]), store_four(address(j, 1), four[j][1]);
  }
}
#endif

#if HAS_RESIDUAL && !DIRECT
constexpr int kPanelsTile = M_BLOCKS * kPanels;
static_assert(PANEL_BUFFERS == kPanelsTile * (1 + RESIDUAL_AHEAD));

// Every panel of a consumer's part of the tile; one thread calls this, when the panels' last results have been read.
__device__ __forceinline__ void fetch_residual(u32 panels, const TensorMap& map, u32 bar, const Tile& tile, int first_row,
                                               const Problem& p) {
  stores_read<0>();
  barrier_expect(bar, kPanelsTile * kBytesPanel);
  for (int i = 0; i < kPanelsTile; ++i)
    load_residual(panels + i * kBytesPanel, map, bar, tile, tile.col + i % kPanels * kPanelColumns,
                  tile.row + first_row + i / kPanels * 64, p);
}
#endif

__device__ void consume(const Shared& shared, const TensorMap& map_c, const TensorMap& map_residual, const Tail& tail,
                        const Problem& p, const i32* __restrict__ correction, int consumer) {
  const u32 rank = cluster_rank();
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int tiles = tile_count(p), step = gridDim.x / kShareOut;
  const int first_row = PINGPONG ? 0 : consumer * 64 * M_BLOCKS;  // inside the tile
  u32 panels = shared.panels + consumer * PANEL_BUFFERS * kBytesPanel;
  [[maybe_unused]] u32 other = panels + PANEL_BUFFERS / 2 * kBytesPanel;  // RESIDUAL_AHEAD: the half that is free
  const u32 residual_bar = shared.residual + 8 * consumer;
  Cursor at;
  u32 residual_parity = 0;
  int t = blockIdx.x / kShareOut;
  if (PINGPONG && consumer == 1) {
    t += step;
    at.skip(kBlocksK);
    named_arrive(1, 256);  // consumer 0 may start at once
  }
#if HAS_RESIDUAL && !DIRECT
  if (RESIDUAL_AHEAD && thread == 0 && t < tiles)
    fetch_residual(panels, map_residual, residual_bar, tile_at(t, p, rank), first_row, p);
#endif
  for (; t < tiles; t += step * (PINGPONG ? 2 : 1)) {
    const Tile tile = tile_at(t, p, rank);
#if HAS_RESIDUAL && !DIRECT
    // The panel buffers first hold the residual. Fetched now, it arrives while the matrix unit works.
    if (!RESIDUAL_AHEAD && thread == 0) fetch_residual(panels, map_residual, residual_bar, tile, first_row, p);
#endif
    Sum sum[M_BLOCKS][BN / 2];
    if constexpr (HAS_CORRECTION) correct(sum, tile, correction, lane);
    // Order is correctness here: see gemm_sm90.cu.
    if constexpr (PINGPONG) named_sync(1 + consumer, 256);
    int previous = 0;
    for (int k = 0; k < kBlocksK; ++k) {
      barrier_wait(shared.full + 8 * at.stage, at.parity);
      mma_begin();
      const u64 a = operand_rows<kRowBytes>(shared.a(at.stage) + first_row * kRowBytes);
      const u64 b = operand_rows<kRowBytes>(shared.b(at.stage, k));
#pragma unroll
      for (int kk = 0; kk < kRowBytes / 32; ++kk)  // 32 elements: two units of the address field
#pragma unroll
        for (int i = 0; i < M_BLOCKS; ++i)
          wgmma(sum[i], a + 2 * kk + i * (64 * kRowBytes >> 4), b + 2 * kk, HAS_CORRECTION || k + kk != 0);
      mma_commit();
      mma_wait<1>();
      if (k > 0) release(shared, previous, lane);
      previous = at.stage;
      at.next();
    }
    if constexpr (PINGPONG) named_arrive(2 - consumer, 256);  // the other consumer may issue
    mma_wait<0>();
    release(shared, previous, lane);
    if constexpr (PINGPONG) at.skip(kBlocksK);

#if DIRECT
#pragma unroll
    for (int i = 0; i < M_BLOCKS; ++i)
      store_directly(sum[i], tile, tile.row + first_row + i * 64 + warp * 16 + lane / 4, p, tail, lane);
#else
    if constexpr (HAS_RESIDUAL) {
      barrier_wait(residual_bar, residual_parity);
      residual_parity ^= 1;
    }
#pragma unroll
    for (int i = 0; i < M_BLOCKS; ++i) {
      // Rows past the end are computed and dropped by the result's tensor map; operands must not be read there.
      const int row = tile.row + first_row + i * 64 + warp * 16 + lane / 4;
      const Row rows[2] = {row_at(0, min(row, p.rows - 1), p.rows, tail), row_at(0, min(row + 8, p.rows - 1), p.rows, tail)};
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const u32 buffer = panels + (i * kPanels + panel) % PANEL_BUFFERS * kBytesPanel;
        if constexpr (!HAS_RESIDUAL) {
          if (thread == 0) stores_read<PANEL_BUFFERS - 1>();
          named_sync(3 + consumer, 128);
        }
        fill_panel(buffer, sum[i], panel, tile, rows, tail, warp * 16 + lane / 4, lane);
        publish_shared();
        named_sync(3 + consumer, 128);
#if HAS_RESIDUAL
        // Every thread has seen this tile's residual arrive: the barrier may begin its next phase.
        const int next = t + step * (PINGPONG ? 2 : 1);
        if (RESIDUAL_AHEAD && i + panel == 0 && thread == 0 && next < tiles)
          fetch_residual(other, map_residual, residual_bar, tile_at(next, p, rank), first_row, p);
#endif
        if (thread == 0)
          store_panel(map_c, buffer, tile, tile.col + panel * kPanelColumns, tile.row + first_row + i * 64, p);
      }
    }
#if HAS_RESIDUAL
    if constexpr (RESIDUAL_AHEAD) {
      const u32 now = panels;
      panels = other, other = now;
    }
#endif
#endif
  }
  if (thread == 0) stores_done();
}

// A block alone on its multiprocessor hands registers from a producing warpgroup to the others; where BLOCKS share one, a warp
// produces, and all keep what the launch gave them.
constexpr int kProducerThreads = BLOCKS == 1 ? 128 : 32;

extern "C" __global__ void __launch_bounds__(128 * CONSUMERS + kProducerThreads, BLOCKS) __cluster_dims__(CLUSTER, 1, 1)
    gemm_bytes(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
               const __grid_constant__ TensorMap map_c, const __grid_constant__ TensorMap map_residual,
               const __grid_constant__ Problem p, const i32* __restrict__ correction, TAIL_PARAMETERS) {
  const Tail tail = TAIL;
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared = shared_from(shared_address(memory), kBytesPanel);
  initialise_barriers(shared);
  wz::start_next();
  const int consumer = threadIdx.x / 128;
  if (consumer == CONSUMERS) {
    if constexpr (BLOCKS == 1) give_registers<CONSUMERS == 3 ? 32 : 40>();
    if (threadIdx.x == 128 * CONSUMERS) produce(shared, map_a, map_b, p);
    __syncwarp();
  } else {
    if constexpr (BLOCKS == 1) take_registers<CONSUMERS == 3 ? 160 : 232>();
    wz::after_previous();
    consume(shared, map_c, map_residual, tail, p, correction, consumer);
  }
  // A block must not end while a peer still copies into it or signals its barriers.
  if constexpr (CLUSTER > 1) cluster_sync();
}
