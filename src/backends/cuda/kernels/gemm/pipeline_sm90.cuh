// SPDX-License-Identifier: Apache-2.0
// What the persistent kernels of gemm_sm90.cu and gemm_bytes_sm90.cu share: tiles in an order that L2 likes, the ring of stages, and
// the producer that fills it with bulk tensor copies. Needs Element, N and the constants in CAPITALS.

// What may change between launches of one compiled kernel.
struct Problem {
  int m_tiles;             // of one matrix, in units of one cluster's rows
  int rows;                // of one matrix
  int rows_out, cols_out;  // convolution: output height and width
  int batch, batch_inner;  // batched: matrices, and the extent of the faster batch dimension
  int a_outer, a_inner, b_outer, b_inner;  // batched: 0 where an operand is the same along that dimension
  i64 gate_image;                          // elements between the factors of two images
};

constexpr int kTileRows = 64 * M_BLOCKS * (PINGPONG ? 1 : CONSUMERS);
constexpr int kRowBytes = ROW_BYTES;  // of a stage: the span of the swizzle, 64 or 128 bytes
constexpr int kStepK = kRowBytes / (int)sizeof(Element);
constexpr int kBytesA = kTileRows * kRowBytes;
constexpr int kBytesB = BN * kRowBytes;
constexpr int kBytesStage = kBytesA + (B_RESIDENT ? 0 : kBytesB);
constexpr int kConsumersPerStage = PINGPONG ? 1 : CONSUMERS;
constexpr int kClusterM = CLUSTER_ALONG_N ? 1 : CLUSTER;
constexpr int kClusterN = CLUSTER_ALONG_N ? CLUSTER : 1;
constexpr int kTilesN = (N + BN * kClusterN - 1) / (BN * kClusterN);
constexpr int kBlocksK = (K + kStepK - 1) / kStepK;
constexpr int kPhases = POOL ? 4 : 1;  // products that make one tile
// B_RESIDENT: a block keeps one column of tiles and loads its part of B once (for small K and several columns).
constexpr int kShareOut = B_RESIDENT ? kTilesN : CLUSTER;  // blocks that work on one row of tiles, or on one tile
static_assert(!B_RESIDENT || CLUSTER == 1);

struct Tile {
  int row, col;  // of this block's part of the cluster's tile
  int matrix;
};

// Bands of GROUP_M tile rows, rows fastest inside a band: the tiles that run at one time then share few rows of A and few of
// B, and both stay in L2.
__device__ __forceinline__ Tile tile_at(int index, const Problem& p, u32 rank) {
  int matrix = 0;
  if constexpr (BATCHED) {
    const int tiles = p.m_tiles * kTilesN;
    matrix = index / tiles;
    index -= matrix * tiles;
  }
  if constexpr (B_RESIDENT) return {index * kTileRows, int(blockIdx.x) % kTilesN * BN, matrix};
  const int band = index / (GROUP_M * kTilesN);
  const int inside = index - band * GROUP_M * kTilesN;
  const int first = band * GROUP_M;
  const int rows = min(GROUP_M, p.m_tiles - first);
  const int m = first + inside % rows;
  const int n = inside / rows;
  const int rank_m = CLUSTER_ALONG_N ? 0 : rank;
  const int rank_n = CLUSTER_ALONG_N ? rank : 0;
  return {(m * kClusterM + rank_m) * kTileRows, (n * kClusterN + rank_n) * BN, matrix};
}

__device__ __forceinline__ int tile_count(const Problem& p) {
  return p.m_tiles * (B_RESIDENT ? 1 : kTilesN) * (BATCHED ? p.batch : 1);
}

struct Shared {
  u32 stages, panels, resident, full, empty, residual, loaded;
  __device__ u32 a(int stage) const { return stages + stage * kBytesStage; }
  __device__ u32 b(int stage, int k) const {
    return B_RESIDENT ? resident + k * kBytesB : stages + stage * kBytesStage + kBytesA;
  }
};

__device__ __forceinline__ Shared shared_from(u32 base, int bytes_panel) {
  Shared shared;
  shared.stages = base;
  shared.panels = base + STAGES * kBytesStage;
  shared.resident = shared.panels + CONSUMERS * PANEL_BUFFERS * bytes_panel;
  shared.full = shared.resident + (B_RESIDENT ? kBlocksK * kBytesB : 0);
  shared.empty = shared.full + 8 * STAGES;
  shared.residual = shared.empty + 8 * STAGES;
  shared.loaded = shared.residual + 8 * CONSUMERS;
  return shared;
}

// Ends when every thread of the cluster may use the barriers.
__device__ __forceinline__ void initialise_barriers(const Shared& shared) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(shared.full + 8 * i, 1);
      barrier_init(shared.empty + 8 * i, 4 * kConsumersPerStage * CLUSTER);  // one arrival a warp
    }
    for (int i = 0; i < CONSUMERS; ++i) barrier_init(shared.residual + 8 * i, 1);
    barrier_init(shared.loaded, 1);
    barriers_are_initialised();
  }
  if constexpr (CLUSTER > 1)
    cluster_sync();
  else
    __syncthreads();
}

struct Cursor {  // position in the ring of stages
  int stage = 0;
  u32 parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void skip(int count) {
    const int to = stage + count;
    parity ^= (to / STAGES) & 1;
    stage = to % STAGES;
  }
};

#if CONVOLUTION
__device__ __forceinline__ Pixel pixel_at(int row, const Problem& p) {
  const int image = row / (p.rows_out * p.cols_out);
  const int inside = row - image * p.rows_out * p.cols_out;
  const int h = inside / p.cols_out;
  const int w = inside - h * p.cols_out;
  return {w * STRIDE_W - PAD_LEFT, h * STRIDE_H - PAD_TOP, image};
}
#endif

constexpr bool kShareA = CLUSTER > 1 && CLUSTER_ALONG_N;
constexpr bool kShareB = CLUSTER > 1 && !CLUSTER_ALONG_N;
constexpr int kPartA = kTileRows / (kShareA ? CLUSTER : 1);  // rows this block fetches; the others come from peers
constexpr int kPartB = BN / (kShareB ? CLUSTER : 1);

__device__ __forceinline__ void load_b(const Shared& shared, const TensorMap& map, u32 bar, int stage, int k, int part,
                                       const Tile& tile, const Problem& p) {
  const u32 to = shared.b(stage, k) + part * kRowBytes;
  if constexpr (BATCHED)
    load_4d(to, map, bar, k * kStepK, tile.col, tile.matrix % p.batch_inner * p.b_inner,
            tile.matrix / p.batch_inner * p.b_outer);
  else if constexpr (kShareB)
    load_2d_all(to, map, bar, k * kStepK, tile.col + part);
  else
    load_2d(to, map, bar, k * kStepK, tile.col);
}

__device__ void produce(const Shared& shared, const TensorMap& map_a, const TensorMap& map_b, const Problem& p) {
  const u32 rank = cluster_rank();
  const int tiles = tile_count(p), tile_step = gridDim.x / kShareOut;
  const int part_a = kShareA ? rank * kPartA : 0;
  const int part_b = kShareB ? rank * kPartB : 0;
  // Constant weights do not depend on the previous kernel: the first stages' part of B is under way before it has ended.
  constexpr bool kEarlyB = B_CONSTANT && !B_RESIDENT;
  int early = 0;
  if constexpr (B_RESIDENT) {
    if (!B_CONSTANT) wz::after_previous();
    barrier_expect(shared.loaded, kBlocksK * kBytesB);
    for (int k = 0; k < kBlocksK; ++k)
      load_2d(shared.resident + k * kBytesB, map_b, shared.loaded, k * kStepK, tile_at(0, p, rank).col);
  }
  int t = blockIdx.x / kShareOut;
  if constexpr (kEarlyB) {
    early = t < tiles ? min(STAGES, kBlocksK) : 0;
    const Tile tile = tile_at(t, p, rank);
    for (int k = 0; k < early; ++k) {
      barrier_expect(shared.full + 8 * k, kBytesStage);
      load_b(shared, map_b, shared.full + 8 * k, k, k, part_b, tile, p);
    }
  }
  wz::after_previous();
  Cursor at;
  for (; t < tiles; t += tile_step) {
    const Tile tile = tile_at(t, p, rank);
#if CONVOLUTION
    const Pixel pixel = pixel_at(tile.row + part_a, p);
    int c = 0, r = 0, s = 0;
#endif
    for (int step = 0; step < kPhases * kBlocksK; ++step) {
      const int k = POOL ? step % kBlocksK : step;
      const u32 bar = shared.full + 8 * at.stage;
      const bool has_b = kEarlyB && early > 0;
      if (!has_b) {
        barrier_wait(shared.empty + 8 * at.stage, at.parity ^ 1);
        barrier_expect(bar, kBytesStage);
      }
      const u32 to_a = shared.a(at.stage) + part_a * kRowBytes;
#if CONVOLUTION
      if (POOL && k == 0) c = 0, r = 0, s = 0;
      const int phase = POOL ? step / kBlocksK : 0, dw = s * DILATION_W + phase % 2, dh = r * DILATION_H + phase / 2;
      if constexpr (kShareA)
        load_im2col_all(to_a, map_a, bar, c, pixel, dw, dh);
      else
        load_im2col(to_a, map_a, bar, c, pixel, dw, dh);
      c += kStepK;
      if (c >= CHANNELS) {
        c = 0;
        if (++s == FILTER_W) {
          s = 0;
          ++r;
        }
      }
#else
      if constexpr (BATCHED)
        load_4d(to_a, map_a, bar, k * kStepK, tile.row, tile.matrix % p.batch_inner * p.a_inner,
                tile.matrix / p.batch_inner * p.a_outer);
      else if constexpr (kShareA)
        load_2d_all(to_a, map_a, bar, k * kStepK, tile.row + part_a);
      else
        load_2d(to_a, map_a, bar, k * kStepK, tile.row);
#endif
      if (has_b)
        --early;
      else if constexpr (!B_RESIDENT)
        load_b(shared, map_b, bar, at.stage, k, part_b, tile, p);
      at.next();
    }
  }
}

__device__ __forceinline__ void release(const Shared& shared, int stage, int lane) {
  if (lane < CLUSTER) barrier_arrive(shared.empty + 8 * stage, lane);
}

__device__ __forceinline__ void load_residual(u32 to, const TensorMap& map, u32 bar, const Tile& tile, int col, int row,
                                              const Problem& p) {
  if constexpr (BATCHED)
    load_4d(to, map, bar, col, row, tile.matrix % p.batch_inner, tile.matrix / p.batch_inner);
  else
    load_2d(to, map, bar, col, row);
}

__device__ __forceinline__ void store_panel(const TensorMap& map, u32 from, const Tile& tile, int col, int row,
                                            const Problem& p) {
  if constexpr (BATCHED)
    store_4d(map, from, col, row, tile.matrix % p.batch_inner, tile.matrix / p.batch_inner);
  else
    store_2d(map, from, col, row);
}

constexpr int kThreads = 128 * (CONSUMERS + 1);
