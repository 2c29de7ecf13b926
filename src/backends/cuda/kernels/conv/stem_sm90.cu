// SPDX-License-Identifier: Apache-2.0
// Convolution of a few channels to at most 64, stride 1 or 2 along a row (the first layer of a network), for sm_90a.
//
// The input comes from stem_prepare.cu. Shared memory holds plain input rows; D[channel, pixel] is computed, ROWS output rows of
// BN pixels a tile; wide rows are PARTS tiles.
#include "conv/stem.cuh"

struct Problem {
  int tiles, tiles_per_image;
};

constexpr int kBytesRow = (PARTS == 1 ? UNITS : BN + TAPS - 1) * 16;  // of an input row that a tile reads
constexpr int kRowsIn = (ROWS - 1) * STRIDE_H + FILTER_H;
constexpr int kBytesLoaded = kRowsIn * kBytesRow;
constexpr int kBytesStage = (kBytesLoaded + 127) / 128 * 128;
constexpr int kBytesOut = ROWS * BN * 128;

struct Shared {
  u32 out, weights, stages, full, empty, loaded;
};

struct Place {
  int image, row, column;  // of a tile's first result; a unit of the input belongs to each column
};
__device__ __forceinline__ Place place_of(int tile, const Problem& p) {
  const int image = tile / p.tiles_per_image, inside = tile - image * p.tiles_per_image;
  return {image, inside / PARTS * ROWS, inside % PARTS * BN};
}

__device__ void produce(const Shared& shared, const unsigned char* x, const unsigned char* weights, const Problem& p) {
  barrier_expect(shared.loaded, kBytesWeights);
  load_bytes(shared.weights, weights, kBytesWeights, shared.loaded);
  wz::after_previous();
  int stage = 0;
  u32 parity = 1;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Place at = place_of(t, p);
    const unsigned char* from = x + (u64)at.image * kBytesImage + STRIDE_H * at.row * kBytesWholeRow + at.column * 16;
    barrier_wait(shared.empty + 8 * stage, parity);
    barrier_expect(shared.full + 8 * stage, kBytesLoaded);
    if constexpr (PARTS == 1)
      load_bytes(shared.stages + stage * kBytesStage, from, kBytesLoaded, shared.full + 8 * stage);
    else
      for (int i = 0; i < kRowsIn; ++i)
        load_bytes(shared.stages + stage * kBytesStage + i * kBytesRow, from + i * kBytesWholeRow, kBytesRow,
                   shared.full + 8 * stage);
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
}

__device__ void consume(const Shared& shared, const TensorMap& map_y, const Tail& tail, const Problem& p, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const u32 out = shared.out + consumer * kBytesOut;
  const int channel = warp * 16 + lane / 4;
  const Columns<1> above = columns_at<1>(min(channel, N - 1), tail), below = columns_at<1>(min(channel + 8, N - 1), tail);
  if (consumer == 1) named_arrive(1, 256);  // consumer 0 may start at once
  barrier_wait(shared.loaded, 0);
  int stage = consumer;
  u32 parity = 0;
  for (int t = blockIdx.x + consumer * gridDim.x; t < p.tiles; t += 2 * gridDim.x) {
    named_sync(1 + consumer, 256);
    barrier_wait(shared.full + 8 * stage, parity);
    float sum[ROWS][BN / 2];
    mma_begin();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const u64 w = plain_operand(shared.weights + step * 2048, 1024);
#pragma unroll
      for (int o = 0; o < ROWS; ++o)
        wgmma(sum[o], w,
              plain_operand(shared.stages + stage * kBytesStage + (STRIDE_H * o + step / kStepsRow) * kBytesRow +
                                step % kStepsRow * 32,
                            16),
              step != 0);
    }
    mma_commit();
    named_arrive(2 - consumer, 256);  // the other consumer may issue
    mma_wait<0>();
    if (lane == 0) barrier_arrive_local(shared.empty + 8 * stage);
    stage += 2;
    if (stage >= STAGES) {
      stage -= STAGES;
      parity ^= 1;
    }

    if (thread == 0) stores_read<0>();
    named_sync(3 + consumer, 128);
    if (has_channels(warp)) {
#pragma unroll
      for (int o = 0; o < ROWS; ++o)
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) {
          const float* f = sum[o] + j * 4;
          const u32 v[2] = {pack<Element>(finish_column(f[0], above), finish_column(f[1], above)),
                            pack<Element>(finish_column(f[2], below), finish_column(f[3], below))};
          const int chunk = warp * 2 + lane / 8 % 2;
          store_fragments_transposed(out + (o * BN + j * 8 + lane % 8) * 128 + ((chunk ^ lane % 8) << 4), v);
        }
    }
    publish_shared();
    named_sync(3 + consumer, 128);
    const Place at = place_of(t, p);
    if (thread == 0)
      for (int o = 0; o < ROWS; ++o) store_4d(map_y, out + o * BN * 128, 0, at.column, at.row + o, at.image);
  }
  if (thread == 0) stores_done();
}

extern "C" __global__ void __launch_bounds__(384, 1)
    stem(const unsigned char* __restrict__ x, const unsigned char* __restrict__ weights,
         const __grid_constant__ TensorMap map_y, const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tail tail = TAIL;
  Shared shared;
  shared.out = shared_address(memory);
  shared.weights = shared.out + 2 * kBytesOut;
  shared.stages = shared.weights + kBytesWeights;
  shared.full = shared.stages + STAGES * kBytesStage;
  shared.empty = shared.full + 8 * STAGES;
  shared.loaded = shared.empty + 8 * STAGES;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
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
