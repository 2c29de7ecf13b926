// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k' + mask) v for few heads: a block has 16 queries, its warps share out the keys and join their sums
// at the end. Keys go straight to registers, values through shared memory while the scores are computed.
// P as in attention_tiles.cuh; kWarps of a block. 16-bit operands, sums in float32.
namespace wz {

template <class P>
struct AttentionSplit {
  using T = typename P::T;
  static constexpr bool kBFloat = sizeof(T) == 2 && P::kIsBFloat;
  static constexpr int kStep = 32;  // keys of a warp at a time
  static constexpr int kD = (P::kSize + 31) / 32 * 32, kV = (P::kValueSize + 15) / 16 * 16;
  static constexpr int kPitch = kV + 8;  // of values (16-bit elements) and of sums (floats)
  static constexpr int kWarpBytes = kStep * kPitch * 2;
  using Scores = AttentionScores<P, kStep>;
  static_assert(kWarpBytes == 16 * kPitch * 4);  // the sums of 16 queries take the place of the values

  struct Room {
    Bytes16 values[P::kWarps * kWarpBytes / 16];  // then sums
    float tops[P::kWarps][16], sums[P::kWarps][16];
  };

  static WZ_FN void run(const T* q, const T* k, const T* v, const typename P::Mask* mask, T* y) {
    __shared__ Room room;  // here, not in attend(): two of that would have one each
    constexpr int kBlocks = (P::kQueries + 15) / 16;
    const int head = blockIdx.x / kBlocks, b = head / P::kHeads, h = head % P::kHeads;
    const int first_row = (kBlocks - 1 - static_cast<int>(blockIdx.x % kBlocks)) * 16;
    q += b * P::kQ0 + h * P::kQ1;
    k += b * P::kK0 + h / P::kGroup * P::kK1;
    v += b * P::kV0 + h / P::kGroup * P::kV1;
    y += b * P::kY0 + h * P::kY1;
    if (P::kHasMask) mask += b % P::kMaskBatch * P::kM0 + h * P::kM1;
    constexpr bool kVectors = P::kQ3 == 1 && P::kK3 == 1 && P::kV3 == 1 && P::kQ2 % 8 == 0 && P::kK2 % 8 == 0 &&
                              P::kV2 % 8 == 0 && P::kSize % 8 == 0 && P::kValueSize % 8 == 0;
    if (kVectors && is_aligned(q) && is_aligned(k) && is_aligned(v))
      attend<kVectors>(q, k, v, mask, y, first_row, room);
    else
      attend<false>(q, k, v, mask, y, first_row, room);
  }

 private:
  /// Elements [at, at + 8) of a row of kSize; zeros beyond its end and where the row is not valid.
  template <bool kVectors>
  static WZ_FN Bytes16 eight(const T* row, i64 stride, int at, bool valid) {
    Bytes16 part = {};
    if (kVectors) {
      if (valid && at < P::kSize) part = *reinterpret_cast<const Bytes16*>(row + at);
    } else {
      for (int i = 0; i < 8; ++i)
        if (valid && at + i < P::kSize) part.word[i / 2] |= static_cast<u32>(row[(at + i) * stride].bits) << i % 2 * 16;
    }
    return part;
  }

  template <bool kVectors>
  static WZ_FN void load_values(u16* to, const T* v, int first, int lane) {
    if (kVectors) {
      constexpr int kChunks = kV / 8;
#pragma unroll
      for (int t = lane; t < kStep * kChunks; t += 32) {
        const int row = t / kChunks, at = t % kChunks * 8;
        const bool valid = first + row < P::kKeys && at < P::kValueSize;
        copy_async(to + row * kPitch + at, valid ? v + (first + row) * P::kV2 + at : v, valid);
      }
    } else {
      for (int t = lane; t < kStep * kV; t += 32) {
        const int row = t / kV, at = t % kV;
        const bool valid = first + row < P::kKeys && at < P::kValueSize;
        to[row * kPitch + at] = valid ? v[(first + row) * P::kV2 + at * P::kV3].bits : u16(0);
      }
    }
    commit_copies();
  }

  template <bool kVectors>
  static WZ_FN void attend(const T* q, const T* k, const T* v, const typename P::Mask* mask, T* y, int first_row,
                           Room& room) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, quad = lane % 4;
    const int row0 = first_row + group, row1 = row0 + 8;
    u16* values = reinterpret_cast<u16*>(room.values) + warp * (kWarpBytes / 2);

    int last = P::kKeys;  // keys beyond are masked for all 16 queries
    if (P::kCausal && first_row + 16 < last) last = first_row + 16;
    int first = warp * kStep;
    if (first < last) load_values<kVectors>(values, v, first, lane);
    // The sum over a row's elements may take them in any order: a lane has eight neighbours of q and k.
    Bytes16 query0[kD / 32], query1[kD / 32];
#pragma unroll
    for (int s = 0; s < kD / 32; ++s) {
      query0[s] = eight<kVectors>(q + row0 * P::kQ2, P::kQ3, s * 32 + quad * 8, row0 < P::kQueries);
      query1[s] = eight<kVectors>(q + row1 * P::kQ2, P::kQ3, s * 32 + quad * 8, row1 < P::kQueries);
    }
    float out[kV / 8][4];
#pragma unroll
    for (int n = 0; n < kV / 8; ++n) out[n][0] = out[n][1] = out[n][2] = out[n][3] = 0;
    float top0 = -Scores::infinity(), top1 = -Scores::infinity(), sum0 = 0, sum1 = 0;

    while (first < last) {
      Bytes16 key[kStep / 8][kD / 32];
#pragma unroll
      for (int n = 0; n < kStep / 8; ++n)
#pragma unroll
        for (int s = 0; s < kD / 32; ++s) {
          const int at = first + n * 8 + group;
          key[n][s] = eight<kVectors>(k + at * P::kK2, P::kK3, s * 32 + quad * 8, at < P::kKeys);
        }
      float score[kStep / 8][4];
#pragma unroll
      for (int n = 0; n < kStep / 8; ++n) {
        score[n][0] = score[n][1] = score[n][2] = score[n][3] = 0;
#pragma unroll
        for (int s = 0; s < kD / 32; ++s)
#pragma unroll
          for (int half = 0; half < 4; half += 2) {
            const u32 a[4] = {query0[s].word[half], query1[s].word[half], query0[s].word[half + 1],
                              query1[s].word[half + 1]};
            const u32 c[2] = {key[n][s].word[half], key[n][s].word[half + 1]};
            multiply_16x8x16<kBFloat>(score[n], a, c);
          }
      }
      Scores::finish(score, mask, first, row0, row1, quad);
      const float scale0 = Scores::rescale(score, 0, top0, sum0), scale1 = Scores::rescale(score, 2, top1, sum1);
#pragma unroll
      for (int n = 0; n < kV / 8; ++n) {
        out[n][0] *= scale0, out[n][1] *= scale0;
        out[n][2] *= scale1, out[n][3] *= scale1;
      }
      wait_copies<0>();
      __syncwarp();
      Scores::template accumulate<kV, kPitch>(out, score, values, last - first, lane);
      first += P::kWarps * kStep;
      if (first >= last) break;
      __syncwarp();
      load_values<kVectors>(values, v, first, lane);
    }

    sum0 += shuffle_xor(sum0, 1), sum0 += shuffle_xor(sum0, 2);
    sum1 += shuffle_xor(sum1, 1), sum1 += shuffle_xor(sum1, 2);
    if (quad == 0) {
      room.tops[warp][group] = top0 * Scores::unit(), room.tops[warp][group + 8] = top1 * Scores::unit();
      room.sums[warp][group] = sum0, room.sums[warp][group + 8] = sum1;
    }
    __syncthreads();
    const float share0 = share_of(room, warp, group), share1 = share_of(room, warp, group + 8);
    float* part = reinterpret_cast<float*>(room.values) + warp * 16 * kPitch;
#pragma unroll
    for (int n = 0; n < kV / 8; ++n) {
      float* upper = part + group * kPitch + n * 8 + quad * 2;
      float* lower = upper + 8 * kPitch;
      upper[0] = out[n][0] * share0, upper[1] = out[n][1] * share0;
      lower[0] = out[n][2] * share1, lower[1] = out[n][3] * share1;
    }
    __syncthreads();
    join(reinterpret_cast<const float*>(room.values), y, first_row);
  }

  /// What a warp's sums for a row are multiplied with: its share of all weights.
  static WZ_FN float share_of(const Room& room, int warp, int row) {
    float top = room.tops[0][row];
#pragma unroll
    for (int w = 1; w < P::kWarps; ++w) top = max_nan(top, room.tops[w][row]);
    const float shift = top == -Scores::infinity() ? 0.0f : top;
    float all = 0;
#pragma unroll
    for (int w = 0; w < P::kWarps; ++w) all += room.sums[w][row] * exp2_normal(room.tops[w][row] - shift);
    return all == 0 ? P::empty_row() : exp2_normal(room.tops[warp][row] - shift) / all;
  }

  static WZ_FN void join(const float* parts, T* y, int first_row) {
    constexpr int kChunks = kV / 8;
    const bool vectors = P::kY3 == 1 && P::kY2 % 8 == 0 && P::kValueSize % 8 == 0 && is_aligned(y);
    for (int t = threadIdx.x; t < 16 * kChunks; t += P::kWarps * 32) {
      const int row = t / kChunks, at = t % kChunks * 8;
      if (first_row + row >= P::kQueries || at >= P::kValueSize) continue;
      float sum[8] = {};
#pragma unroll
      for (int w = 0; w < P::kWarps; ++w)
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] += parts[(w * 16 + row) * kPitch + at + i];
      Bytes16 packed;
#pragma unroll
      for (int i = 0; i < 4; ++i) packed.word[i] = pack_16<kBFloat>(sum[2 * i], sum[2 * i + 1]);
      T* to = y + (first_row + row) * P::kY2 + at * P::kY3;
      if (vectors) {
        *reinterpret_cast<Bytes16*>(to) = packed;
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (at + i < P::kValueSize) to[i * P::kY3].bits = static_cast<u16>(packed.word[i / 2] >> i % 2 * 16);
      }
    }
  }
};

}  // namespace wz
