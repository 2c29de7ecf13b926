// SPDX-License-Identifier: Apache-2.0
// GEMM and implicit-GEMM convolution for sm_90a: D[row, column] = finish(A[row, k] * B[column, k]).
//
// Persistent and warp-specialised: one producer thread keeps a ring of stages filled by bulk tensor copies, two or three
// consumer warpgroups multiply; they share a tile (cooperative) or alternate tiles (ping-pong). A is a matrix, a batch of
// matrices, or an image read as columns of filter positions; POOL: of each 2x2 results the largest leaves (rows are the pooled
// pixels, whose four results are computed one after the other); GATED: its channels are multiplied by an image's factors first. The constants in CAPITALS, wgmma() for n = BN and the tail
// (finish, Tail, Row) come from the host. Results leave through shared memory and bulk copies; DIRECT: straight from registers,
// for results of another type, rows that begin anywhere and tiles of any width; DENSE: rows of float32 that follow each other
// without a gap are gathered in shared memory, eight at a time, and leave as one copy.

#include "gemm/pipeline_sm90.cuh"

constexpr int kPairs = BN / 8;  // of columns that a lane holds in one row
constexpr int kPanels = BN / 64;
static_assert(!DENSE || (DIRECT && N <= BN && !BATCHED && !GATED && sizeof(Result) == 4));
static_assert(kRowBytes == 128 && BN % 8 == 0 && (DIRECT || BN % 64 == 0) && !(DIRECT && HAS_RESIDUAL));
static_assert(!POOL || (CONVOLUTION && !PINGPONG && !B_RESIDENT && !GATED && !DIRECT && !HAS_RESIDUAL));
constexpr int kBytesPanel = 64 * kRowBytes;

#if GATED
// Rows of A are multiplied by one factor an image and channel on their way from shared memory to the matrix unit. A lane
// holds pairs of channels of two rows for each 16 channels of a step, as the fragments have them.
struct Gates {
  u32 upper[4][2], lower[4][2];
};

__device__ __forceinline__ void read_gates(Gates& g, const Element* upper, const Element* lower, int k, int lane) {
#pragma unroll
  for (int kk = 0; kk < 4; ++kk)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int channel = k * 64 + kk * 16 + half * 8 + lane % 4 * 2;
      const bool has = K % 64 == 0 || channel < K;  // A is 0 beyond, and 0 times garbage may be NaN
      g.upper[kk][half] = has ? load_pair(upper + channel) : 0;
      g.lower[kk][half] = has ? load_pair(lower + channel) : 0;
    }
}

__device__ __forceinline__ void multiply_gated(float (&sum)[BN / 2], u32 row, const Gates& g, u64 b, bool add, int lane) {
  constexpr bool kBFloat = !kIsHalf<Element>;
  u32 a[4][4];
#pragma unroll
  for (int kk = 0; kk < 4; ++kk) {
    load_fragments(row + (((2 * kk + lane / 16) ^ (lane & 7)) << 4), a[kk]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      a[kk][2 * half] = multiply_pairs<kBFloat>(a[kk][2 * half], g.upper[kk][half]);
      a[kk][2 * half + 1] = multiply_pairs<kBFloat>(a[kk][2 * half + 1], g.lower[kk][half]);
    }
  }
  mma_begin();
#pragma unroll
  for (int kk = 0; kk < 4; ++kk) wgmma(sum, a[kk], b + 2 * kk, add || kk != 0);
  mma_commit();
}
#endif

#if DIRECT && PAIRS_IN_PIECES
// Rows that begin anywhere: eight neighbouring lanes write eight columns of a row, four rows at once, instead of two columns of
// eight rows each; that is half of the memory's sectors.
struct Rows4 {
  Row at[2];  // of this lane, among the upper and the lower four of eight rows
  bool has[2];
};
__device__ __forceinline__ Rows4 rows_of_lane(const Tile& tile, int first_row, const Problem& p, const Tail& tail, int lane) {
  Rows4 to;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = first_row + i * 4 + lane / 8;
    to.has[i] = row < p.rows;
    to.at[i] = row_at(tile.matrix, min(row, p.rows - 1), p.rows, tail);
  }
  return to;
}
__device__ __forceinline__ void store_pieces(const float (&x)[2], const Rows4& to, int first_col, const Tail& tail, int lane) {
  const int col = first_col + lane % 8;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int from = (i * 4 + lane / 8) * 4 + lane % 8 / 2;
    const float even = wz::shuffle_from(x[0], from), odd = wz::shuffle_from(x[1], from);
    const float y[1] = {lane % 2 == 0 ? even : odd};
    if (to.has[i] && col < N) store_result<1>(y, to.at[i], col, tail);
  }
}
#endif

#if DENSE
constexpr int kBytesRows = (8 * N * 4 + 127) / 128 * 128;  // of eight rows
static_assert(4 * ROW_BUFFERS * kBytesRows <= PANEL_BUFFERS * kBytesPanel);

// The sixteen rows of a warp. Eight rows begin on 16 bytes, whatever N is.
__device__ __forceinline__ void store_rows(const float (&sum)[BN / 2], const ColumnPair<Column> (&column_pairs)[HAS_COLUMN ? kPairs : 1],
                                           const Tile& tile, int first_row, const Problem& p, const Tail& tail, int lane, u32 buffers) {
  const float no_residual[2] = {};
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int top = first_row + lower * 8, row = top + lane / 4;
    const bool whole = top + 8 <= p.rows;
    const Row at = row_at(tile.matrix, min(row, p.rows - 1), p.rows, tail);
    const u32 buffer = buffers + lower % ROW_BUFFERS * kBytesRows;
    if (lane == 0) stores_read<ROW_BUFFERS - 1>();
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const int col = j * 8 + lane % 4 * 2;
      if (col >= N) continue;
      const ColumnPair<Column> both = HAS_COLUMN ? column_pairs[j] : ColumnPair<Column>{};
      const float column[2] = {both.low(), both.high()};
      float x[2] = {sum[j * 4 + lower * 2], sum[j * 4 + lower * 2 + 1]};
      finish<2>(x, column, no_residual, at, col, tail);
      const u32 to = buffer + (lane / 4 * N + col) * 4;
      if (whole) {
        store_word(to, wz::bits_of_float(x[0]));
        if (N % 2 == 0 || col + 1 < N) store_word(to + 4, wz::bits_of_float(x[1]));
      } else if (row < p.rows) {
        store_result<2>(x, at, col, tail);
      }
    }
    publish_shared();
    __syncwarp();
    if (whole && lane == 0) store_bytes((Result*)tail.y + (i64)top * N, buffer, 8 * N * 4);
  }
}
#elif DIRECT
// A lane has pairs of neighbouring columns of two rows; four lanes together write eight columns of a row.
__device__ __forceinline__ void store_directly(const float (&sum)[BN / 2], const ColumnPair<Column> (&column_pairs)[HAS_COLUMN ? kPairs : 1],
                                               const Tile& tile, int first_row, const Problem& p, const Tail& tail, int lane) {
  const float no_residual[2] = {};
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int row = first_row + lower * 8;
    if (!PAIRS_IN_PIECES && row >= p.rows) continue;
    const Row at = row_at(tile.matrix, min(row, p.rows - 1), p.rows, tail);
#if PAIRS_IN_PIECES
    const Rows4 to = rows_of_lane(tile, row - lane / 4, p, tail, lane);
#endif
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const int col = tile.col + j * 8 + lane % 4 * 2;
      if (!PAIRS_IN_PIECES && N % BN != 0 && col >= N) continue;
      const ColumnPair<Column> both = HAS_COLUMN ? column_pairs[j] : ColumnPair<Column>{};
      const float column[2] = {both.low(), both.high()};
      float x[2] = {sum[j * 4 + lower * 2], sum[j * 4 + lower * 2 + 1]};
      finish<2>(x, column, no_residual, at, min(col, N - 1), tail);
#if PAIRS_IN_PIECES
      store_pieces(x, to, tile.col + j * 8, tail, lane);
#else
      store_result<2>(x, at, col, tail);
#endif
    }
  }
}
#endif

#if POOL
// Whether a pooled pixel has a result at this phase: windows may reach over the image's end.
__device__ __forceinline__ bool has_phase(int row, int phase, const Problem& p) {
  if constexpr (CONV_H % 2 == 0 && CONV_W % 2 == 0) return true;
  const int inside = row % (p.rows_out * p.cols_out), h = inside / p.cols_out, w = inside - h * p.cols_out;
  return 2 * h + phase / 2 < CONV_H && 2 * w + phase % 2 < CONV_W;
}

// Finishes one of the four results of each pooled pixel; rows come in eights, as in store_directly.
__device__ __forceinline__ void keep_larger(u32 (&best)[BN / 4], const float (&sum)[BN / 2], int phase, const Tile& tile,
                                            int first_row, const Problem& p, const Tail& tail, int lane) {
  const float no_residual[2] = {};
  const Row at = {};  // operands are the same in all rows
  const bool has[2] = {phase == 0 || has_phase(first_row, phase, p), phase == 0 || has_phase(first_row + 8, phase, p)};
#pragma unroll
  for (int j = 0; j < kPairs; ++j) {
    const int col = tile.col + j * 8 + lane % 4 * 2;
    ColumnPair<Column> both = {};
    if (HAS_COLUMN && (N % BN == 0 || col < N)) both = column_pair(tail, col);
    const float column[2] = {both.low(), both.high()};
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      float x[2] = {sum[j * 4 + lower * 2], sum[j * 4 + lower * 2 + 1]};
      finish<2>(x, column, no_residual, at, col, tail);
      const u32 pair = pack<Element>(x[0], x[1]);
      u32& kept = best[j * 2 + lower];
      if (phase == 0)
        kept = pair;
      else if (has[lower])
        kept = larger_pairs<!kIsHalf<Element>>(kept, pair);
    }
  }
}
#endif

__device__ void consume(const Shared& shared, const TensorMap& map_c, const TensorMap& map_residual, const Tail& tail,
                        const Problem& p, const Element* __restrict__ gate, int consumer) {
  const u32 rank = cluster_rank();
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int tiles = tile_count(p);
  const int step = gridDim.x / kShareOut;
  const int first_row = PINGPONG ? 0 : consumer * 64 * M_BLOCKS;  // inside the tile
  const u32 panels = shared.panels + consumer * PANEL_BUFFERS * kBytesPanel;
  const u32 residual_bar = shared.residual + 8 * consumer;
  // Row of an 8x8 matrix that this lane addresses for stmatrix and ldmatrix, and its place under the swizzle.
  const int matrix_row = warp * 16 + lane % 16;
  const int chunk_of_lane = lane / 16;
  const u32 row_offset = matrix_row * kRowBytes;

  Cursor at;
  u32 residual_parity = 0;
  int t = blockIdx.x / kShareOut;
  if constexpr (B_RESIDENT) barrier_wait(shared.loaded, 0);
  if (PINGPONG && consumer == 1) {
    t += step;
    at.skip(kBlocksK);
    named_arrive(1, 256);  // consumer 0 may start at once
  }
  for (; t < tiles; t += step * (PINGPONG ? 2 : 1)) {
    const Tile tile = tile_at(t, p, rank);
    if constexpr (HAS_RESIDUAL) {
      // The panel buffers first hold the residual. Fetched now, it arrives while the matrix unit works.
      if (thread == 0) {
        stores_read<0>();
        barrier_expect(residual_bar, M_BLOCKS * kPanels * kBytesPanel);
        for (int i = 0; i < M_BLOCKS * kPanels; ++i)
          load_residual(panels + i * kBytesPanel, map_residual, residual_bar, tile, tile.col + i % kPanels * 64,
                        tile.row + first_row + i / kPanels * 64, p);
      }
    }
    // Read before the products: in the epilogue each of these loads would be waited for.
    ColumnPair<Column> column_pairs[HAS_COLUMN && !POOL ? kPairs : 1];
    if constexpr (HAS_COLUMN && !POOL) {
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        const int col = tile.col + j * 8 + lane % 4 * 2;
        column_pairs[j] = N % BN == 0 || col < N ? column_pair(tail, col) : ColumnPair<Column>{};
      }
    }
    // Order is correctness here, not only speed: a parity wait cannot tell a phase from the one two later, and only after
    // the other consumer's last commit are the stages of this tile at most one phase ahead.
    if constexpr (PINGPONG) named_sync(1 + consumer, 256);

    float sum[M_BLOCKS][BN / 2];
#if GATED
    static_assert(M_BLOCKS == 1);
    const int upper = tile.row + first_row + warp * 16 + lane / 4, pixels = p.rows_out * p.cols_out;
    const Element* const gate_upper = gate + min(upper, p.rows - 1) / pixels * p.gate_image;
    const Element* const gate_lower = gate + min(upper + 8, p.rows - 1) / pixels * p.gate_image;
    Gates gates;
    read_gates(gates, gate_upper, gate_lower, 0, lane);
    for (int k = 0; k < kBlocksK; ++k) {
      barrier_wait(shared.full + 8 * at.stage, at.parity);
      multiply_gated(sum[0], shared.a(at.stage) + first_row * kRowBytes + row_offset, gates, operand(shared.b(at.stage, k)),
                     k != 0, lane);
      if (k + 1 < kBlocksK) read_gates(gates, gate_upper, gate_lower, k + 1, lane);
      mma_wait<0>();  // the fragments' registers are free again
      release(shared, at.stage, lane);
      at.next();
    }
    if constexpr (PINGPONG) named_arrive(2 - consumer, 256);
#else
#if POOL
    u32 best[M_BLOCKS][BN / 4];
#endif
    for (int phase = 0; phase < kPhases; ++phase) {
      int previous = 0;
      for (int k = 0; k < kBlocksK; ++k) {
        barrier_wait(shared.full + 8 * at.stage, at.parity);
        mma_begin();
        const u64 a = operand(shared.a(at.stage) + first_row * kRowBytes);
        const u64 b = operand(shared.b(at.stage, k));
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)  // 16 halves or 8 floats = 32 bytes: two units of the address field
#pragma unroll
          for (int i = 0; i < M_BLOCKS; ++i)
            wgmma(sum[i], a + 2 * kk + i * (64 * kRowBytes >> 4), b + 2 * kk, k + kk != 0);
        mma_commit();
        mma_wait<1>();
        if (k > 0) release(shared, previous, lane);
        previous = at.stage;
        at.next();
      }
      if constexpr (PINGPONG) named_arrive(2 - consumer, 256);  // the other consumer may issue
      mma_wait<0>();
      release(shared, previous, lane);
#if POOL
#pragma unroll
      for (int i = 0; i < M_BLOCKS; ++i)
        keep_larger(best[i], sum[i], phase, tile, tile.row + first_row + i * 64 + warp * 16 + lane / 4, p, tail, lane);
#endif
    }
#endif
    if constexpr (PINGPONG) at.skip(kBlocksK);

#if DENSE
#pragma unroll
    for (int i = 0; i < M_BLOCKS; ++i)
      store_rows(sum[i], column_pairs, tile, tile.row + first_row + i * 64 + warp * 16, p, tail, lane,
                 panels + warp * ROW_BUFFERS * kBytesRows);
#elif DIRECT
#pragma unroll
    for (int i = 0; i < M_BLOCKS; ++i)
      store_directly(sum[i], column_pairs, tile, tile.row + first_row + i * 64 + warp * 16 + lane / 4, p, tail, lane);
#else
    if constexpr (HAS_RESIDUAL) {
      barrier_wait(residual_bar, residual_parity);
      residual_parity ^= 1;
    }
#pragma unroll
    for (int i = 0; i < M_BLOCKS; ++i) {
      // Rows past the end are computed and dropped by the result's tensor map; operands must not be read there.
      const int row = tile.row + first_row + i * 64 + warp * 16 + lane / 4;
      const Row upper = row_at(tile.matrix, min(row, p.rows - 1), p.rows, tail);
      const Row lower = row_at(tile.matrix, min(row + 8, p.rows - 1), p.rows, tail);
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const u32 buffer = panels + (i * kPanels + panel) % PANEL_BUFFERS * kBytesPanel;
        if constexpr (!HAS_RESIDUAL) {
          if (thread == 0) stores_read<PANEL_BUFFERS - 1>();
          named_sync(3 + consumer, 128);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // 16 columns each
          const int chunk = 2 * j + chunk_of_lane;
          const u32 address = buffer + row_offset + ((chunk ^ (matrix_row & 7)) << 4);
          u32 out[4], old[4] = {};
          if constexpr (HAS_RESIDUAL) load_fragments(address, old);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
#if POOL
            const u32* pairs = best[i] + (panel * 8 + j * 2 + half) * 2;
            out[half * 2] = pairs[0], out[half * 2 + 1] = pairs[1];
#else
            const ColumnPair<Column> both = HAS_COLUMN ? column_pairs[panel * 8 + j * 2 + half] : ColumnPair<Column>{};
            const float column[2] = {both.low(), both.high()};
            const float* f = sum[i] + panel * 32 + j * 8 + half * 4;
            const u32 above = old[half * 2], below = old[half * 2 + 1];
            float x[2] = {f[0], f[1]}, y[2] = {f[2], f[3]};
            const float residual_x[2] = {low_half<Element>(above), high_half<Element>(above)};
            const float residual_y[2] = {low_half<Element>(below), high_half<Element>(below)};
            const int col = tile.col + panel * 64 + j * 16 + half * 8 + lane % 4 * 2;
            finish<2>(x, column, residual_x, upper, col, tail);
            finish<2>(y, column, residual_y, lower, col, tail);
            out[half * 2] = pack<Element>(x[0], x[1]);
            out[half * 2 + 1] = pack<Element>(y[0], y[1]);
#endif
          }
          store_fragments(address, out);
        }
        publish_shared();
        named_sync(3 + consumer, 128);
        if (thread == 0) store_panel(map_c, buffer, tile, tile.col + panel * 64, tile.row + first_row + i * 64, p);
      }
    }
#endif
  }
  if (DENSE ? lane == 0 : thread == 0) stores_done();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(CLUSTER, 1, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_c, const __grid_constant__ TensorMap map_residual,
         const __grid_constant__ Problem p, const Element* __restrict__ gate, TAIL_PARAMETERS) {
  const Tail tail = TAIL;
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared = shared_from(shared_address(memory), kBytesPanel);
  initialise_barriers(shared);
  wz::start_next();

  const int group = threadIdx.x / 128;
  if (group == 0) {
    give_registers<CONSUMERS == 3 ? 32 : 40>();
    if (threadIdx.x == 0) produce(shared, map_a, map_b, p);
    __syncwarp();
  } else {
    take_registers<CONSUMERS == 3 ? 160 : 232>();
    wz::after_previous();
    consume(shared, map_c, map_residual, tail, p, gate, group - 1);
  }
  // A block must not end while a peer still copies into it or signals its barriers.
  if constexpr (CLUSTER > 1) cluster_sync();
}
