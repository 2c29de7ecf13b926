// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, channels-last 16-bit floats, float32 sums, for sm_90 and newer. Memory-bound: no matrix unit.
//
// A block streams input rows, whole width and BLOCK_C channels, through a ring of stages, so the bytes in flight do not
// depend on registers or occupancy, and every row is fetched once (twice at the edge of a strip of ROWS output rows). A thread
// owns VEC channels of COLS output columns and walks down; each input row adds into the output rows that see it, which stay in
// registers. VEC is bounded by the registers that FILTER * FILTER * VEC weights take.

struct Problem {
  int rows_out, strips, units;  // a unit is one strip of one image
  i64 y_n, y_h, y_w;
};

constexpr int kWidthIn = (WIDTH_OUT - 1) * STRIDE + FILTER;
constexpr int kGroups = BLOCK_C / VEC;
constexpr int kColThreads = (WIDTH_OUT + COLS - 1) / COLS;
constexpr int kConsumerWarps = (kGroups * kColThreads + 31) / 32;
constexpr int kBlocksC = CHANNELS / BLOCK_C;
constexpr int kBytesRow = kWidthIn * BLOCK_C * 2;
constexpr int kBytesStage = (kBytesRow + 127) / 128 * 128;
constexpr int kRowsIn = (ROWS - 1) * STRIDE + FILTER;
constexpr int kOpen = (FILTER + STRIDE - 1) / STRIDE;  // output rows that one input row can add to
constexpr int kPeriod = kOpen * STRIDE;                // input rows after which an output row's registers are reused
constexpr int kColsIn = (COLS - 1) * STRIDE + FILTER;
constexpr int kBytesPartial = HAS_MEAN ? 2 * kColThreads * BLOCK_C * 4 : 0;  // sums of threads
static_assert(WIDTH_OUT >= COLS && CHANNELS % BLOCK_C == 0 && BLOCK_C % VEC == 0);

struct Floats {
  float v[VEC];
};

__device__ __forceinline__ Floats read(const void* from) {
  wz::Vector<Element, VEC> x;
  wz::load_vector<VEC>(x, static_cast<const Element*>(from), true);
  Floats f;
#pragma unroll
  for (int i = 0; i < VEC; ++i) f.v[i] = wz::load(x.at[i]);
  return f;
}

__device__ void produce(const TensorMap& map_x, u32 stages, u32 full, u32 empty, const Problem& p) {
  int stage = 0;
  u32 parity = 1;
  for (int unit = blockIdx.x / kBlocksC; unit < p.units; unit += gridDim.x / kBlocksC) {
    const int image = unit / p.strips, row = (unit - image * p.strips) * ROWS * STRIDE - PAD_TOP;
    for (int i = 0; i < kRowsIn; ++i) {
      barrier_wait(empty + 8 * stage, parity);
      barrier_expect(full + 8 * stage, kBytesRow);
      load_4d(stages + stage * kBytesStage, map_x, full + 8 * stage, blockIdx.x % kBlocksC * BLOCK_C, -PAD_LEFT, row + i,
              image);
      if (++stage == STAGES) {
        stage = 0;
        parity ^= 1;
      }
    }
  }
}

__device__ void consume(const unsigned char* stages, u32 full, u32 empty, const Element* __restrict__ weights,
                        const Tail& tail, float* partial, float* __restrict__ sums, const Problem& p) {
  const int thread = threadIdx.x - 32, lane = threadIdx.x % 32;
  // The last columns' thread begins earlier, so that it has COLS of them: it repeats results of its neighbour.
  const int group = thread % kGroups, column = min(thread / kGroups * COLS, WIDTH_OUT - COLS);
  const bool active = thread < kGroups * kColThreads;
  const int repeated = thread / kGroups * COLS - column;  // columns that the neighbour has too
  const int channel = blockIdx.x % kBlocksC * BLOCK_C + group * VEC;
  Floats w[FILTER][FILTER];  // in memory: [tap][channel]
#pragma unroll
  for (int r = 0; r < FILTER; ++r)
#pragma unroll
    for (int s = 0; s < FILTER; ++s) w[r][s] = read(weights + (r * FILTER + s) * CHANNELS + channel);
  const Columns<VEC> columns = columns_at<VEC>(channel, tail);
  const bool aligned = wz::is_aligned(tail.y);

  int stage = 0, turn = 0;
  u32 parity = 0;
  for (int unit = blockIdx.x / kBlocksC; unit < p.units; unit += gridDim.x / kBlocksC) {
    const int image = unit / p.strips, row0 = (unit - image * p.strips) * ROWS;
    Result* to = static_cast<Result*>(tail.y) + image * p.y_n + row0 * p.y_h + column * p.y_w;
    Floats sum[kOpen][COLS];
    Floats total = {};  // HAS_MEAN: of what this thread alone has
    for (int base = 0; base < kRowsIn; base += kPeriod) {
#pragma unroll
      for (int u = 0; u < kPeriod; ++u) {
        if (base + u >= kRowsIn) break;
        barrier_wait(full + 8 * stage, parity);
        const unsigned char* from = stages + stage * kBytesStage + (column * STRIDE * BLOCK_C + group * VEC) * 2;
        Floats in[kColsIn];
#pragma unroll
        for (int i = 0; i < kColsIn; ++i) in[i] = read(from + i * BLOCK_C * 2);
        __syncwarp();
        if (lane == 0) barrier_arrive_local(empty + 8 * stage);
        if (++stage == STAGES) {
          stage = 0;
          parity ^= 1;
        }
#pragma unroll
        for (int r = 0; r < FILTER; ++r) {
          if ((u + kPeriod * FILTER - r) % STRIDE != 0) continue;
          const int slot = (u + kPeriod * FILTER - r) / STRIDE % kOpen;
#pragma unroll
          for (int c = 0; c < COLS; ++c) {
            if (r == 0) sum[slot][c] = {};
#pragma unroll
            for (int s = 0; s < FILTER; ++s)
#pragma unroll
              for (int v = 0; v < VEC; ++v) sum[slot][c].v[v] += in[c * STRIDE + s].v[v] * w[r][s].v[v];
          }
          if (r != FILTER - 1) continue;
          const int row = (base + u - r) / STRIDE;  // inside the strip; its last tap row has been added
          if (base + u < r || row0 + row >= p.rows_out || !active) continue;
#pragma unroll
          for (int c = 0; c < COLS; ++c) {
            finish_columns<VEC>(sum[slot][c].v, columns);
            if (HAS_MEAN && c >= repeated) {
#pragma unroll
              for (int v = 0; v < VEC; ++v) total.v[v] += sum[slot][c].v[v];
            }
            store_run<VEC, 1>(to + row * p.y_h + c * p.y_w, channel, sum[slot][c].v, aligned);
          }
        }
      }
    }
    if constexpr (HAS_MEAN) {
      // Two buffers take turns: who writes one has passed the barrier behind the last reading of it.
      float* const here = partial + turn * kColThreads * BLOCK_C;
      turn ^= 1;
      if (active) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) here[thread / kGroups * BLOCK_C + group * VEC + v] = total.v[v];
      }
      named_sync(1, 32 * kConsumerWarps);
      for (int c = thread; c < BLOCK_C; c += 32 * kConsumerWarps) {
        float strip = 0;
        for (int i = 0; i < kColThreads; ++i) strip += here[i * BLOCK_C + c];
        sums[(i64)unit * CHANNELS + blockIdx.x % kBlocksC * BLOCK_C + c] = strip;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(32 + 32 * kConsumerWarps, BLOCKS_PER_SM)
    depthwise(const __grid_constant__ TensorMap map_x, const Element* __restrict__ weights,
              const __grid_constant__ Problem p, float* __restrict__ sums, TAIL_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Tail tail = TAIL;
  const u32 stages = shared_address(memory);
  float* const partial = reinterpret_cast<float*>(memory + STAGES * kBytesStage);
  const u32 full = stages + STAGES * kBytesStage + kBytesPartial, empty = full + 8 * STAGES;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, kConsumerWarps);
    }
    barriers_are_initialised();
  }
  __syncthreads();
  wz::start_next();
  wz::after_previous();
  if (threadIdx.x >= 32)
    consume(memory, full, empty, weights, tail, partial, sums, p);
  else if (threadIdx.x == 0)
    produce(map_x, stages, full, empty, p);
}
