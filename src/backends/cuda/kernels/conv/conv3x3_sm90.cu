// SPDX-License-Identifier: Apache-2.0
// 3x3 convolution, stride 1, padding 1, 64 -> 64 channels, channels-last 16-bit floats, for sm_90a.
//
// Im2col fetches every pixel nine times from L2, and with 64 output channels that traffic is the limit. Here a block fetches
// ROWS x WIDTH pixels (a part of the image's width, or all of it) and their halo once, and the nine taps are nine shifted views
// of it: with 64 channels a pixel is exactly one 128-byte swizzle row, so a shift by (r, s) is r * kPitch + s rows. The matrix
// product is transposed, D[channel, pixel], which makes the wide side the pixels; positions in the halo's columns are computed
// and dropped: by the bounds of the output's tensor map, or, between parts of a row (PARTS > 1), by storing row by row. The
// weights stay in shared memory for the whole kernel. POOL: of each 2x2 pixels the largest leaves, for POOLED_H x POOLED_W.

struct Problem {
  int tiles, tiles_per_image;
};

constexpr int kPitch = WIDTH + 2;
constexpr int kBytesWeights = 9 * 64 * 128;
constexpr int kBytesLoaded = (ROWS + 2) * kPitch * 128;
constexpr int kBytesStage = (kBytesLoaded + 256 + 1023) / 1024 * 1024;  // the last tap of the last position reads on
constexpr int kBytesOut = (BN * 128 + 1023) / 1024 * 1024;

struct Shared {
  u32 weights, stages, out, full, empty, loaded;
};

struct Tile {
  int image, row, col;
};
__device__ __forceinline__ Tile tile_at(int t, const Problem& p) {
  const int image = t / p.tiles_per_image, inside = t - image * p.tiles_per_image;
  return {image, inside / PARTS * ROWS, inside % PARTS * WIDTH};
}

__device__ void produce(const Shared& shared, const TensorMap& map_x, const TensorMap& map_w, const Problem& p) {
  barrier_expect(shared.loaded, kBytesWeights);
  for (int tap = 0; tap < 9; ++tap) load_2d(shared.weights + tap * 8192, map_w, shared.loaded, tap * 64, 0);
  wz::after_previous();  // the weights are constants
  int stage = 0;
  u32 parity = 1;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Tile tile = tile_at(t, p);
    barrier_wait(shared.empty + 8 * stage, parity);
    barrier_expect(shared.full + 8 * stage, kBytesLoaded);
    load_4d(shared.stages + stage * kBytesStage, map_x, shared.full + 8 * stage, 0, tile.col - 1, tile.row - 1,
            tile.image);
    if (++stage == 2) {
      stage = 0;
      parity ^= 1;
    }
  }
}

#if POOL
__device__ __forceinline__ void take_larger(u32 (&best)[4], u32 out, int position, int chunk) {
  u32 v[4];
  load_chunk(out + position * 128 + ((chunk ^ (position & 7)) << 4), v);
#pragma unroll
  for (int i = 0; i < 4; ++i) best[i] = larger_pairs<!kIsHalf<Element>>(best[i], v[i]);
}

// The largest of each 2x2 pixels of the tile, eight channels a thread at a time. Pixels beyond the image do not count.
__device__ __forceinline__ void store_pooled(u32 out, const Tile& tile, Element* y, int thread) {
  constexpr int kRows = ROWS / 2, kCols = WIDTH / 2;
  static_assert(ROWS % 2 == 0 && WIDTH % 2 == 0);
  for (int i = thread; i < kRows * kCols * 8; i += 128) {
    const int chunk = i % 8, col = i / 8 % kCols, row = i / 8 / kCols;
    const int h = tile.row / 2 + row, w = tile.col / 2 + col, position = 2 * row * kPitch + 2 * col;
    if (h >= POOLED_H || w >= POOLED_W) continue;
    const bool right = IN_W % 2 == 0 || 2 * w + 1 < IN_W, below = IN_H % 2 == 0 || 2 * h + 1 < IN_H;
    u32 best[4];
    load_chunk(out + position * 128 + ((chunk ^ (position & 7)) << 4), best);
    if (right) take_larger(best, out, position + 1, chunk);
    if (below) take_larger(best, out, position + kPitch, chunk);
    if (right && below) take_larger(best, out, position + kPitch + 1, chunk);
    store_chunk(y + tile.image * i64(POOLED_N_STEP) + h * i64(POOLED_H_STEP) + w * i64(POOLED_W_STEP) + chunk * 8, best);
  }
}
#endif

__device__ void consume(const Shared& shared, const TensorMap& map_y, const Tail& tail, const Problem& p, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const u32 pixels = shared.stages + consumer * kBytesStage;
  const u32 out = shared.out + consumer * kBytesOut;
  const int channel = warp * 16 + lane / 4;
  const Columns<1> above = columns_at<1>(channel, tail), below = columns_at<1>(channel + 8, tail);
  if (consumer == 1) named_arrive(1, 256);  // consumer 0 may start at once
  barrier_wait(shared.loaded, 0);
  u32 parity = 0;
  for (int t = blockIdx.x + consumer * gridDim.x; t < p.tiles; t += 2 * gridDim.x) {
    const Tile tile = tile_at(t, p);
    named_sync(1 + consumer, 256);
    barrier_wait(shared.full + 8 * consumer, parity);
    parity ^= 1;
    float sum[BN / 2];
    mma_begin();
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) {
      const u64 w = operand(shared.weights + tap * 8192);
      // The swizzle follows the absolute address, so a view may start at any row.
      const u64 x = operand(pixels + (tap / 3 * kPitch + tap % 3) * 128);
#pragma unroll
      for (int k = 0; k < 4; ++k) wgmma(sum, w + 2 * k, x + 2 * k, tap + k != 0);
    }
    mma_commit();
    named_arrive(2 - consumer, 256);  // the other consumer may issue
    mma_wait<0>();
    if (lane == 0) barrier_arrive_local(shared.empty + 8 * consumer);

    if (thread == 0) stores_read<0>();
    named_sync(3 + consumer, 128);
#pragma unroll
    for (int j = 0; j < BN / 8; ++j) {
      const float* f = sum + j * 4;
      const u32 v[2] = {pack<Element>(finish_column(f[0], above), finish_column(f[1], above)),
                        pack<Element>(finish_column(f[2], below), finish_column(f[3], below))};
      const int chunk = warp * 2 + lane / 8 % 2;
      store_fragments_transposed(out + (j * 8 + lane % 8) * 128 + ((chunk ^ lane % 8) << 4), v);
    }
#if POOL
    named_sync(3 + consumer, 128);
    store_pooled(out, tile, static_cast<Element*>(tail.y), thread);
    continue;
#endif
    publish_shared();
    named_sync(3 + consumer, 128);
    if (thread == 0) {
#pragma unroll
      for (int row = 0; row < (PARTS == 1 ? 1 : ROWS); ++row)
        store_4d(map_y, out + row * kPitch * 128, 0, tile.col, tile.row + row, tile.image);
    }
  }
  if (thread == 0) stores_done();
}

extern "C" __global__ void __launch_bounds__(384, 1)
    conv3x3(const __grid_constant__ TensorMap map_x, const __grid_constant__ TensorMap map_w,
            const __grid_constant__ TensorMap map_y, const __grid_constant__ Problem p, TAIL_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tail tail = TAIL;
  Shared shared;
  shared.weights = shared_address(memory);
  shared.stages = shared.weights + kBytesWeights;
  shared.out = shared.stages + 2 * kBytesStage;
  shared.full = shared.out + 2 * kBytesOut;
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
    if (threadIdx.x == 0) produce(shared, map_x, map_w, p);
  } else {
    take_registers<232>();
    wz::after_previous();
    consume(shared, map_y, tail, p, threadIdx.x / 128 - 1);
  }
}
