// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k' + mask) v in one pass over the keys (Dao et al., arXiv:2205.14135): a warp has 16 queries in
// registers, the block's warps share tiles of 64 keys and values in shared memory. 16-bit operands, sums in float32.
// P, generated: sizes, strides, T, Mask, kScale (times log2 e), kMaskScale (log2 e), kCausal, kHasMask, kWarps.
namespace wz {

constexpr int kKeyTile = 64;

template <class P>
struct AttentionTiles {
  using T = typename P::T;
  static constexpr bool kBFloat = sizeof(T) == 2 && P::kIsBFloat;
  static constexpr int kThreads = 32 * P::kWarps;
  static constexpr int kD = (P::kSize + 15) / 16 * 16, kV = (P::kValueSize + 15) / 16 * 16;
  static constexpr int kKeyPitch = kD + 8, kValuePitch = kV + 8;
  static constexpr int kStageBytes = kKeyTile * (kKeyPitch + kValuePitch) * 2;
  using Scores = AttentionScores<P, kKeyTile>;
  static constexpr int kStages = 2 * kStageBytes <= 48 * 1024 ? 2 : 1;

  /// Rows [first, first + 64) of k or v into a tile; zeros beyond the last one and beyond the row's elements.
  template <int kElements, int kPadded, int kPitch>
  static WZ_FN void load_tile(u16* tile, const T* from, i64 row_stride, i64 stride, int first, bool vectors) {
    constexpr int kChunks = kPadded / 8;
    if (vectors) {
      // A thread keeps its column where that comes out even: all but the first address are constants away.
      constexpr bool kEven = kThreads % kChunks == 0;
      constexpr int kRows = kEven ? kThreads / kChunks : 1, kCount = (kKeyTile * kChunks + kThreads - 1) / kThreads;
      const int row0 = threadIdx.x / kChunks, column = threadIdx.x % kChunks * 8;
      const T* at = from + (first + row0) * row_stride + column;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const int t = threadIdx.x + i * kThreads, row = kEven ? row0 + i * kRows : t / kChunks;
        const int chunk = kEven ? column : t % kChunks * 8;
        if ((kKeyTile * kChunks) % kThreads != 0 && t >= kKeyTile * kChunks) break;
        const bool valid = (P::kKeys % kKeyTile == 0 || first + row < P::kKeys) && chunk < kElements;
        const T* source = kEven ? at + i * kRows * row_stride : from + (first + row) * row_stride + chunk;
        copy_async(tile + row * kPitch + chunk, valid ? source : from, valid);
      }
    } else {
      for (int t = threadIdx.x; t < kKeyTile * kPadded; t += kThreads) {
        const int row = t / kPadded, at = t % kPadded;
        const bool valid = first + row < P::kKeys && at < kElements;
        tile[row * kPitch + at] = valid ? from[(first + row) * row_stride + at * stride].bits : u16(0);
      }
    }
  }
  static WZ_FN u32 pair(const T* row, int at, i64 stride, bool valid, bool vectors) {
    u32 low = 0, high = 0;
    if (vectors) return valid && at < P::kSize ? *reinterpret_cast<const u32*>(row + at) : 0;
    if (valid && at < P::kSize) low = row[at * stride].bits;
    if (valid && at + 1 < P::kSize) high = row[(at + 1) * stride].bits;
    return low | high << 16;
  }

  static WZ_FN void run(const T* q, const T* k, const T* v, const typename P::Mask* mask, T* y) {
    __shared__ Bytes16 tiles[kStages][kStageBytes / 16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, quad = lane % 4;
    constexpr int kBlocks = (P::kQueries + 16 * P::kWarps - 1) / (16 * P::kWarps);
    const int head = blockIdx.x / kBlocks, b = head / P::kHeads, h = head % P::kHeads;
    const int block_first = (kBlocks - 1 - static_cast<int>(blockIdx.x % kBlocks)) * 16 * P::kWarps;
    const int row0 = block_first + warp * 16 + group, row1 = row0 + 8;
    q += b * P::kQ0 + h * P::kQ1;
    k += b * P::kK0 + h / P::kGroup * P::kK1;
    v += b * P::kV0 + h / P::kGroup * P::kV1;
    y += b * P::kY0 + h * P::kY1;
    if (P::kHasMask) mask += b % P::kMaskBatch * P::kM0 + h * P::kM1;
    constexpr bool kVectorLoads = P::kK3 == 1 && P::kV3 == 1 && P::kK2 % 8 == 0 && P::kV2 % 8 == 0 && P::kSize % 8 == 0 &&
                                  P::kValueSize % 8 == 0;
    const bool vectors = kVectorLoads && is_aligned(k) && is_aligned(v);
    int last = P::kKeys;  // keys beyond are masked for the whole block
    if (P::kCausal && block_first + 16 * P::kWarps < last) last = block_first + 16 * P::kWarps;
    const int count = (last + kKeyTile - 1) / kKeyTile;
    // The first tile is on its way before the queries are.
    const auto fetch = [&](int tile) {
      u16* to = reinterpret_cast<u16*>(tiles[tile % kStages]);
      load_tile<P::kSize, kD, kKeyPitch>(to, k, P::kK2, P::kK3, tile * kKeyTile, vectors);
      load_tile<P::kValueSize, kV, kValuePitch>(to + kKeyTile * kKeyPitch, v, P::kV2, P::kV3, tile * kKeyTile, vectors);
      commit_copies();
    };
    if (kStages == 2 && count > 0) fetch(0);

    constexpr bool kVectorQueries = P::kQ3 == 1 && P::kQ2 % 8 == 0 && P::kSize % 8 == 0;
    const bool vector_queries = kVectorQueries && is_aligned(q);

    u32 query[kD / 16][4];
#pragma unroll
    for (int s = 0; s < kD / 16; ++s) {
      const int at = s * 16 + quad * 2;
      query[s][0] = pair(q + row0 * P::kQ2, at, P::kQ3, row0 < P::kQueries, vector_queries);
      query[s][1] = pair(q + row1 * P::kQ2, at, P::kQ3, row1 < P::kQueries, vector_queries);
      query[s][2] = pair(q + row0 * P::kQ2, at + 8, P::kQ3, row0 < P::kQueries, vector_queries);
      query[s][3] = pair(q + row1 * P::kQ2, at + 8, P::kQ3, row1 < P::kQueries, vector_queries);
    }
    float out[kV / 8][4];
#pragma unroll
    for (int n = 0; n < kV / 8; ++n) out[n][0] = out[n][1] = out[n][2] = out[n][3] = 0;
    float top0 = -Scores::infinity(), top1 = -Scores::infinity(), sum0 = 0, sum1 = 0;

    for (int tile = 0; tile < count; ++tile) {
      if (kStages == 1) {
        __syncthreads();
        fetch(tile);
        wait_copies<0>();
      } else {
        __syncthreads();  // the other stage is free
        if (tile + 1 < count) {
          fetch(tile + 1);
          wait_copies<1>();
        } else {
          wait_copies<0>();
        }
      }
      __syncthreads();
      const u16* keys = reinterpret_cast<const u16*>(tiles[tile % kStages]);
      const u16* values = keys + kKeyTile * kKeyPitch;
      if (block_first + warp * 16 >= P::kQueries) continue;
      const int left = last - tile * kKeyTile;
      float score[kKeyTile / 8][4];
      scores(score, query, keys, left, lane);
      Scores::finish(score, mask, tile * kKeyTile, row0, row1, quad);
      const float scale0 = Scores::rescale(score, 0, top0, sum0), scale1 = Scores::rescale(score, 2, top1, sum1);
#pragma unroll
      for (int n = 0; n < kV / 8; ++n) {
        out[n][0] *= scale0, out[n][1] *= scale0;
        out[n][2] *= scale1, out[n][3] *= scale1;
      }
      Scores::template accumulate<kV, kValuePitch>(out, score, values, left, lane);
    }
    sum0 += shuffle_xor(sum0, 1), sum0 += shuffle_xor(sum0, 2);
    sum1 += shuffle_xor(sum1, 1), sum1 += shuffle_xor(sum1, 2);
    const float inverse0 = sum0 == 0 ? P::empty_row() : 1.0f / sum0;
    const float inverse1 = sum1 == 0 ? P::empty_row() : 1.0f / sum1;
#pragma unroll
    for (int n = 0; n < kV / 8; ++n) {
      const int at = n * 8 + quad * 2;
      write(y + row0 * P::kY2, at, out[n][0] * inverse0, out[n][1] * inverse0, row0 < P::kQueries);
      write(y + row1 * P::kY2, at, out[n][2] * inverse1, out[n][3] * inverse1, row1 < P::kQueries);
    }
  }

 private:
  static WZ_FN void scores(float (&score)[kKeyTile / 8][4], const u32 (&query)[kD / 16][4], const u16* keys, int left,
                           int lane) {
#pragma unroll
    for (int n = 0; n < kKeyTile / 8; n += 2) {
      score[n][0] = score[n][1] = score[n][2] = score[n][3] = 0;
      score[n + 1][0] = score[n + 1][1] = score[n + 1][2] = score[n + 1][3] = 0;
      if (!Scores::kWhole && n * 8 >= left) continue;
#pragma unroll
      for (int s = 0; s < kD / 16; ++s) {
        u32 part[4];
        load_matrices(part, keys + (n * 8 + lane / 16 * 8 + lane % 8) * kKeyPitch + s * 16 + lane / 8 % 2 * 8);
        const u32 first[2] = {part[0], part[1]}, second[2] = {part[2], part[3]};
        multiply_16x8x16<kBFloat>(score[n], query[s], first);
        multiply_16x8x16<kBFloat>(score[n + 1], query[s], second);
      }
    }
  }

  static WZ_FN void write(T* row, int at, float first, float second, bool valid) {
    if (!valid || at >= P::kValueSize) return;
    const u32 both = pack_16<kBFloat>(first, second);
    if (P::kY3 == 1 && P::kValueSize % 2 == 0 && (reinterpret_cast<u64>(row) & 3) == 0) {
      *reinterpret_cast<u32*>(row + at) = both;
      return;
    }
    row[at * P::kY3].bits = static_cast<u16>(both);
    if (at + 1 < P::kValueSize) row[(at + 1) * P::kY3].bits = static_cast<u16>(both >> 16);
  }
};

/// One warp a query, any float type: lanes score a key each, then add up values a column each.
template <class P>
struct AttentionWarps {
  using T = typename P::T;
  using F = typename P::F;
  static constexpr int kColumns = (P::kValueSize + 31) / 32;

  static WZ_FN void run(const T* q, const T* k, const T* v, const typename P::Mask* mask, T* y) {
    const i64 job = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const bool live = job < static_cast<i64>(P::kBatch) * P::kHeads * P::kQueries;
    const i64 at = live ? job : 0;
    const int row = static_cast<int>(at % P::kQueries), head = static_cast<int>(at / P::kQueries);
    const int b = head / P::kHeads, h = head % P::kHeads;
    q += b * P::kQ0 + h * P::kQ1 + row * P::kQ2;
    k += b * P::kK0 + h / P::kGroup * P::kK1;
    v += b * P::kV0 + h / P::kGroup * P::kV1;
    y += b * P::kY0 + h * P::kY1 + row * P::kY2;
    if (P::kHasMask) mask += b % P::kMaskBatch * P::kM0 + h * P::kM1 + row * P::kM2;
    const F none = -static_cast<F>(float_of_bits(0x7f800000u));
    F out[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) out[c] = 0;
    F top = none, sum = 0;
    const int last = P::kCausal && row + 1 < P::kKeys ? row + 1 : P::kKeys;
    for (int first = 0; first < last; first += 32) {
      const int key = first + lane;
      F score = none;
      if (key < last) {
        score = 0;
        for (int d = 0; d < P::kSize; ++d)
          score += static_cast<F>(load(q[d * P::kQ3])) * static_cast<F>(load(k[key * P::kK2 + d * P::kK3]));
        score *= static_cast<F>(P::plain_scale());
        if (P::kHasMask) score += static_cast<F>(load(mask[key * P::kM3]));
      }
      F most = max(top, score);
#pragma unroll
      for (int m = 16; m > 0; m /= 2) most = max(most, shuffle_xor(most, m));
      const F shift = most == none ? F(0) : most;
      const F scale = exp(top - shift), weight = exp(score - shift);
      top = most;
      sum = sum * scale + weight;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) out[c] *= scale;
      for (int j = 0; j < 32; ++j) {
        const F w = shuffle_from(weight, j);
        if (first + j >= last) continue;
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          if (c * 32 + lane < P::kValueSize)
            out[c] += w * static_cast<F>(load(v[(first + j) * P::kV2 + (c * 32 + lane) * P::kV3]));
      }
    }
#pragma unroll
    for (int m = 16; m > 0; m /= 2) sum += shuffle_xor(sum, m);
    const F inverse = sum == 0 ? static_cast<F>(P::empty_row()) : F(1) / sum;
    if (!live) return;
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (c * 32 + lane < P::kValueSize) y[(c * 32 + lane) * P::kY3] = store<T>(out[c] * inverse);
  }
};

}  // namespace wz
