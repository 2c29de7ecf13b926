// SPDX-License-Identifier: Apache-2.0
// GEMM and implicit-GEMM convolution with few rows for sm_90a: D[row, column] = finish(A[row, k] * B[column, k]).
//
// The product is transposed, D[feature, row]: FEATURES x BN rows a block, so BN can follow the rows in steps of 8; 64 features a
// warpgroup. K is split over the SPLITS blocks of a cluster, which add their partial sums through distributed shared memory.
// Constant weights do not depend on the previous kernel, so their loads start before it has ended.

struct Problem {
  int row_tiles, rows, rows_out, cols_out;
};

constexpr int kStepK = 128 / (int)sizeof(Element);  // of a stage's rows of 128 bytes
constexpr int kBlocksK = (K + kStepK - 1) / kStepK;
constexpr int kConsumers = FEATURES / 64;
constexpr int kBytesW = FEATURES * 128;
constexpr int kBytesX = BN * 128;
constexpr int kBytesStage = kBytesW + kBytesX;
constexpr int kPitch = FEATURES + 4;  // floats between rows of the partial sums: free of bank conflicts, a multiple of 16 bytes

// Four partial sums that lie at `address` in the block `rank` of the cluster.
__device__ __forceinline__ float4 load_partial(u32 address, u32 rank) {
#ifdef WZ_EMULATED
  static_assert(SPLITS == 1, "clusters are not emulated");
  return *reinterpret_cast<const float4*>(emulation::shared_at(address));
#else
  if constexpr (SPLITS > 1) asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
#endif
}

struct Block {
  u32 stages, full, empty;
  int feature, row, first, last;  // K blocks [first, last)
};

__device__ __forceinline__ void load_w(const Block& b, const TensorMap& map, int k) {
  const int stage = (k - b.first) % STAGES;
  barrier_expect(b.full + 8 * stage, kBytesStage);
  load_2d(b.stages + stage * kBytesStage, map, b.full + 8 * stage, k * kStepK, b.feature);
}

__device__ __forceinline__ void load_x(const Block& b, const TensorMap& map, int k, Pixel pixel) {
  const int stage = (k - b.first) % STAGES;
  const u32 to = b.stages + stage * kBytesStage + kBytesW;
#if CONVOLUTION
  constexpr int kSlices = (CHANNELS + kStepK - 1) / kStepK;
  const int tap = k / kSlices;
  load_im2col(to, map, b.full + 8 * stage, k % kSlices * kStepK, pixel, tap % FILTER_W * DILATION_W,
              tap / FILTER_W * DILATION_H);
#else
  load_2d(to, map, b.full + 8 * stage, k * kStepK, b.row);
#endif
}

__device__ void produce(const Block& b, const TensorMap& map_x, const TensorMap& map_w, const Problem& p) {
  Pixel pixel = {};
#if CONVOLUTION
  const int image = b.row / (p.rows_out * p.cols_out), inside = b.row - image * p.rows_out * p.cols_out;
  const int h = inside / p.cols_out, w = inside - h * p.cols_out;
  pixel = {w * STRIDE_W - PAD_LEFT, h * STRIDE_H - PAD_TOP, image};
#endif
  const int ahead = min(b.last, b.first + STAGES);
  if (!B_CONSTANT) wz::after_previous();
  for (int k = b.first; k < ahead; ++k) load_w(b, map_w, k);
  wz::after_previous();
  for (int k = b.first; k < ahead; ++k) load_x(b, map_x, k, pixel);
  for (int k = ahead; k < b.last; ++k) {
    const int use = (k - b.first) / STAGES;
    barrier_wait(b.empty + 8 * ((k - b.first) % STAGES), (use - 1) & 1);
    load_w(b, map_w, k);
    load_x(b, map_x, k, pixel);
  }
}

extern "C" __global__ void __launch_bounds__(128 * kConsumers + 32, 1) __cluster_dims__(SPLITS, 1, 1)
    splitk(const __grid_constant__ TensorMap map_x, const __grid_constant__ TensorMap map_w,
           const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  const Tail tail = TAIL;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int rank = blockIdx.x % SPLITS;
  const int tile = blockIdx.x / SPLITS;
  Block b;
  b.stages = shared_address(memory);
  b.full = b.stages + STAGES * kBytesStage;
  b.empty = b.full + 8 * STAGES;
  b.feature = tile / p.row_tiles * FEATURES;
  b.row = tile % p.row_tiles * BN;
  b.first = kBlocksK * rank / SPLITS;
  b.last = kBlocksK * (rank + 1) / SPLITS;

  if (threadIdx.x == 128 * kConsumers) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(b.full + 8 * i, 1);
      barrier_init(b.empty + 8 * i, 4 * kConsumers);
    }
    barriers_are_initialised();
  }
  __syncthreads();
  wz::start_next();

  float sum[BN / 2];
  if (warp == 4 * kConsumers) {
    if (lane == 0) produce(b, map_x, map_w, p);
    __syncwarp();
  } else {
    for (int k = b.first; k < b.last; ++k) {
      const int stage = (k - b.first) % STAGES;
      barrier_wait(b.full + 8 * stage, (k - b.first) / STAGES & 1);
      mma_begin();
      const u32 from = b.stages + stage * kBytesStage;
      const u64 w = operand(from + warp / 4 * (64 * 128)), x = operand(from + kBytesW);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk) wgmma(sum, w + 2 * kk, x + 2 * kk, k != b.first || kk != 0);
      mma_commit();
      mma_wait<1>();
      if (k > b.first && lane == 0) barrier_arrive_local(b.empty + 8 * ((k - 1 - b.first) % STAGES));
    }
    mma_wait<0>();
    wz::after_previous();
    // Every load has landed and every wgmma of this warp is done; the other warps may still read the stages.
    named_sync(1, 128 * kConsumers);
    float* partial = reinterpret_cast<float*>(memory);
    const int f = warp * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        partial[(j * 8 + lane % 4 * 2 + i % 2) * kPitch + f + i / 2 * 8] = sum[j * 4 + i];
  }
  if constexpr (SPLITS > 1)
    cluster_sync();
  else
    __syncthreads();

  if (warp < 4 * kConsumers) {  // a thread finishes four features of a row, the block eight rows at once
    constexpr int kThreadsRow = FEATURES / 4;
    const int f = threadIdx.x % kThreadsRow * 4;
    for (int r = rank * 8 + threadIdx.x / kThreadsRow; r < BN && b.row + r < p.rows; r += 8 * SPLITS) {
      float x[4] = {};
#pragma unroll
      for (int i = 0; i < SPLITS; ++i) {
        const float4 v = load_partial(b.stages + (r * kPitch + f) * 4, i);
        x[0] += v.x, x[1] += v.y, x[2] += v.z, x[3] += v.w;
      }
      const int col = b.feature + f;
      if (N % FEATURES != 0 && col >= N) continue;
      const Row at = row_at(0, b.row + r, p.rows, tail);
      const float none[4] = {};
      finish<4>(x, none, none, at, col, tail);
      store_result<4>(x, at, col, tail);
    }
  }
  if constexpr (SPLITS > 1) cluster_sync();  // a block's memory must outlive its peers' reads
}
