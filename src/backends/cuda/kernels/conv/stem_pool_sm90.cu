// SPDX-License-Identifier: Apache-2.0
// The first layer of a network, as stem_sm90.cu computes it, and the pool of 3x3 in steps of 2 (padding 1) behind it: the
// convolution's rows never leave the multiprocessor.
//
// A tile is POOL_ROWS rows of the pool's result in full width. A consumer goes through the 2 POOL_ROWS + 1 rows of the
// convolution that they cover: of D[channel, pixel] a lane has two neighbouring pixels, the third of a window comes from the
// lane beside it, and rows are joined in registers: `kept` is the largest so far of the pool's row at hand.
#include "conv/stem.cuh"

struct Problem {
  int tiles, tiles_per_image;
};

constexpr int kRowsIn = 2 * POOL_ROWS * STRIDE_H + FILTER_H;
constexpr int kBytesStage = (kRowsIn * kBytesWholeRow + 127) / 128 * 128;
constexpr int kPooledCols = BN / 2;
constexpr int kBytesOut = (kPooledCols * 128 + 1023) / 1024 * 1024;

struct Shared {
  u32 out, weights, stages, full, empty, loaded;
};

struct Place {
  int image, row, first, last;  // the pool's first row; the convolution's rows that are needed
};
__device__ __forceinline__ Place place_of(int tile, const Problem& p) {
  const int image = tile / p.tiles_per_image, row = (tile - image * p.tiles_per_image) * POOL_ROWS;
  return {image, row, max(2 * row - 1, 0), min(2 * (row + POOL_ROWS) - 1, OUT_H - 1)};
}

__device__ void produce(const Shared& shared, const unsigned char* x, const unsigned char* weights, const Problem& p) {
  barrier_expect(shared.loaded, kBytesWeights);
  load_bytes(shared.weights, weights, kBytesWeights, shared.loaded);
  wz::after_previous();
  int stage = 0;
  u32 parity = 1;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Place at = place_of(t, p);
    const int bytes = ((at.last - at.first) * STRIDE_H + FILTER_H) * kBytesWholeRow;
    barrier_wait(shared.empty + 8 * stage, parity);
    barrier_expect(shared.full + 8 * stage, bytes);
    load_bytes(shared.stages + stage * kBytesStage, x + (u64)at.image * kBytesImage + STRIDE_H * at.first * kBytesWholeRow,
               bytes, shared.full + 8 * stage);
    stage ^= 1;
    if (stage == 0) parity ^= 1;
  }
}

// The largest of each three neighbours in a row of the convolution: a lane has pixels 8 j + 2 q and the next (q its place
// among four) and finds what belongs to the pool's pixel 4 j + q, of two channels.
__device__ __forceinline__ void join_neighbours(float (&largest)[BN / 8][2], const float (&sum)[BN / 2],
                                                const Columns<1>& above, const Columns<1>& below, int lane) {
  const float least = wz::float_of_bits(0xff800000u);
  const int q = lane % 4, beside = lane / 4 * 4 + (q + 3) % 4;
  float before[2] = {least, least};  // what the lane beside sent for the previous pixels
#pragma unroll
  for (int j = 0; j < BN / 8; ++j)
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const Columns<1>& columns = c == 0 ? above : below;
      const int pixel = 8 * j + 2 * q;
      const float left = pixel < OUT_W ? finish_column(sum[4 * j + 2 * c], columns) : least;
      const float right = pixel + 1 < OUT_W ? finish_column(sum[4 * j + 2 * c + 1], columns) : least;
      const float sent = wz::shuffle_from(right, beside);
      largest[j][c] = wz::max(wz::max(left, right), q == 0 ? before[c] : sent);
      before[c] = sent;
    }
}

__device__ void consume(const Shared& shared, const TensorMap& map_y, const Tail& tail, const Problem& p, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const u32 out = shared.out + consumer * kBytesOut, stage = shared.stages + consumer * kBytesStage;
  const int channel = warp * 16 + lane / 4;
  const Columns<1> above = columns_at<1>(min(channel, N - 1), tail), below = columns_at<1>(min(channel + 8, N - 1), tail);
  barrier_wait(shared.loaded, 0);
  u32 parity = 0;
  for (int t = blockIdx.x + consumer * gridDim.x; t < p.tiles; t += 2 * gridDim.x) {
    const Place at = place_of(t, p);
    barrier_wait(shared.full + 8 * consumer, parity);
    parity ^= 1;
    float kept[BN / 8][2];
    for (int row = at.first; row <= at.last; ++row) {
      float sum[BN / 2];
      mma_begin();
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        wgmma(sum, plain_operand(shared.weights + step * 2048, 1024),
              plain_operand(stage + ((row - at.first) * STRIDE_H + step / kStepsRow) * kBytesWholeRow + step % kStepsRow * 32, 16),
              step != 0);
      mma_commit();
      mma_wait<0>();
      if (row == at.last && lane == 0) barrier_arrive_local(shared.empty + 8 * consumer);
      float largest[BN / 8][2];
      if (has_channels(warp)) join_neighbours(largest, sum, above, below, lane);
#pragma unroll
      for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) kept[j][c] = row == at.first ? largest[j][c] : wz::max(kept[j][c], largest[j][c]);
      const int pooled = row / 2;  // whose last row an odd one is; the next one's first, too
      if (pooled < at.row || (row % 2 == 0 && row != OUT_H - 1)) continue;
      if (thread == 0) stores_read<0>();
      named_sync(1 + consumer, 128);
#pragma unroll
      for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int col = 4 * j + lane % 4, chunk = warp * 2 + c;
          store_element(out + col * 128 + ((chunk ^ (col & 7)) << 4) + lane / 4 * 2, wz::store<Element>(kept[j][c]).bits);
          kept[j][c] = largest[j][c];  // of the next row of the pool, too
        }
      publish_shared();
      named_sync(1 + consumer, 128);
      if (thread == 0) store_4d(map_y, out, 0, 0, pooled, at.image);
    }
  }
  if (thread == 0) stores_done();
}

extern "C" __global__ void __launch_bounds__(384, 1)
    stem_pool(const unsigned char* __restrict__ x, const unsigned char* __restrict__ weights,
              const __grid_constant__ TensorMap map_y, const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tail tail = TAIL;
  Shared shared;
  shared.out = shared_address(memory);
  shared.weights = shared.out + 2 * kBytesOut;
  shared.stages = shared.weights + kBytesWeights;
  shared.full = shared.stages + 2 * kBytesStage;
  shared.empty = shared.full + 16;
  shared.loaded = shared.empty + 16;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      barrier_init(shared.full + 8 * i, 1);
      barrier_init(shared.empty + 8 * i, 4);
    }
    barrier_init(shared.loaded, 1);
    barriers_are_initialised();
  }
  __syncthreads();
  wz::start_next();
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) produce(shared, x, weights, p);
  } else {
    take_registers<232>();
    wz::after_previous();
    consume(shared, map_y, tail, p, threadIdx.x / 128 - 1);
  }
}
