// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k' + mask) v of floats by multiplications, in one pass over the keys (Dao et al., arXiv:2205.14135):
// a block has kRows queries of a head, its 128 threads share tiles of kTile keys and values in shared memory. A thread
// has every 16th query; eight neighbours have the same queries, every eighth key and four adjacent values of each 32.
// P, generated: sizes, strides, Mask, plain_scale(), kCausal, kHasMask, kRows, kTile.
namespace wz {

struct alignas(16) FourFloats {
  float v[4];
};

template <class P>
struct AttentionFloats {
  static constexpr int kThreads = 128, kEach = P::kRows / 16, kKeysEach = P::kTile / 8;
  static constexpr int kSizePadded = (P::kSize + 3) / 4 * 4, kColumns = (P::kValueSize + 31) / 32;
  // Rows that threads read at once begin in banks of their own.
  static constexpr int kPitch = (P::kSize + 31) / 32 * 32 + 4, kValuePitch = 32 * kColumns, kWeightPitch = P::kTile + 4;

  /// `kCount` rows from `first` on as floats, zeros from row `end` and from element `kElements` on.
  template <int kCount, int kElements, int kPadded, int kTo>
  static WZ_FN void load_rows(FourFloats* to, const float* from, i64 row_stride, i64 stride, int first, int end, bool vectors) {
    constexpr int kChunks = kPadded / 4;
    for (int t = threadIdx.x; t < kCount * kChunks; t += kThreads) {
      const int row = t / kChunks, at = t % kChunks * 4;
      const float* source = from + (first + row) * row_stride;
      FourFloats four = {{0, 0, 0, 0}};
      if (first + row < end && at < kElements) {
        if (vectors) {
          four = *reinterpret_cast<const FourFloats*>(source + at);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (at + i < kElements) four.v[i] = source[(at + i) * stride];
        }
      }
      to[(row * kTo + at) / 4] = four;
    }
  }

  /// Whether one instruction may read or write four elements of a row.
  template <i64 kRowStride, i64 kStride, int kElements>
  static WZ_FN bool in_fours(const float* at) {
    constexpr bool kAdjacent = kStride == 1 && kRowStride % 4 == 0 && kElements % 4 == 0;
    return kAdjacent && (reinterpret_cast<u64>(at) & 15) == 0;
  }

  static WZ_FN void run(const float* q, const float* k, const float* v, const typename P::Mask* mask, float* y) {
    __shared__ FourFloats queries[P::kRows * kPitch / 4], keys[P::kTile * kPitch / 4], values[P::kTile * kValuePitch / 4];
    __shared__ FourFloats weights[P::kRows * kWeightPitch / 4];
    constexpr int kBlocks = (P::kQueries + P::kRows - 1) / P::kRows;
    const int head = blockIdx.x / kBlocks, b = head / P::kHeads, h = head % P::kHeads;
    const int block_first = (kBlocks - 1 - static_cast<int>(blockIdx.x % kBlocks)) * P::kRows;
    const int group = threadIdx.x / 8, member = threadIdx.x % 8;
    q += b * P::kQ0 + h * P::kQ1;
    k += b * P::kK0 + h / P::kGroup * P::kK1;
    v += b * P::kV0 + h / P::kGroup * P::kV1;
    y += b * P::kY0 + h * P::kY1;
    if (P::kHasMask) mask += b % P::kMaskBatch * P::kM0 + h * P::kM1;
    const bool query_fours = in_fours<P::kQ2, P::kQ3, P::kSize>(q);
    const bool key_fours = in_fours<P::kK2, P::kK3, P::kSize>(k);
    const bool value_fours = in_fours<P::kV2, P::kV3, P::kValueSize>(v);
    int last = P::kKeys;  // keys beyond are masked for the whole block
    if (P::kCausal && block_first + P::kRows < last) last = block_first + P::kRows;

    load_rows<P::kRows, P::kSize, kSizePadded, kPitch>(queries, q, P::kQ2, P::kQ3, block_first, P::kQueries, query_fours);
    const float none = -float_of_bits(0x7f800000u);
    float out[kEach][kColumns][4], top[kEach], sum[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      top[i] = none, sum[i] = 0;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) out[i][c][0] = out[i][c][1] = out[i][c][2] = out[i][c][3] = 0;
    }
    for (int first = 0; first < last; first += P::kTile) {
      load_rows<P::kTile, P::kSize, kSizePadded, kPitch>(keys, k, P::kK2, P::kK3, first, last, key_fours);
      load_rows<P::kTile, P::kValueSize, kValuePitch, kValuePitch>(values, v, P::kV2, P::kV3, first, last, value_fours);
      __syncthreads();
      float score[kEach][kKeysEach];
      multiply(score, queries, keys, group, member);
      finish(score, mask, first + member, block_first + group, last);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        float most = top[i];
#pragma unroll
        for (int j = 0; j < kKeysEach; ++j) most = max_nan(most, score[i][j]);
#pragma unroll
        for (int m = 4; m > 0; m /= 2) most = max_nan(most, shuffle_xor(most, m));
        const float shift = most == none ? 0.0f : most, scale = exp(top[i] - shift);
        top[i] = most;
        sum[i] *= scale;
#pragma unroll
        for (int j = 0; j < kKeysEach; ++j) {
          const float weight = exp(score[i][j] - shift);
          sum[i] += weight;
          weights[((group + 16 * i) * kWeightPitch + 8 * j + member) / 4].v[member % 4] = weight;
        }
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int e = 0; e < 4; ++e) out[i][c][e] *= scale;
      }
      __syncthreads();
      accumulate(out, weights, values, group, member);
      __syncthreads();
    }
    const bool result_fours = in_fours<P::kY2, P::kY3, P::kValueSize>(y);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int m = 4; m > 0; m /= 2) sum[i] += shuffle_xor(sum[i], m);
      const float inverse = sum[i] == 0 ? P::empty_row() : 1.0f / sum[i];
      const int row = block_first + group + 16 * i;
      if (row < P::kQueries) write(y + row * P::kY2, out[i], inverse, member, result_fours);
    }
  }

 private:
  static WZ_FN void multiply(float (&score)[kEach][kKeysEach], const FourFloats* queries, const FourFloats* keys,
                             int group, int member) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) score[i][j] = 0;
#pragma unroll 4
    for (int d = 0; d < kSizePadded; d += 4) {
      FourFloats query[kEach], key[kKeysEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) query[i] = queries[((group + 16 * i) * kPitch + d) / 4];
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) key[j] = keys[((member + 8 * j) * kPitch + d) / 4];
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kKeysEach; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) score[i][j] += query[i].v[e] * key[j].v[e];
    }
  }

  /// Scale, mask and ends of scores of every 16th query from `row` on and every eighth key from `key` on.
  static WZ_FN void finish(float (&score)[kEach][kKeysEach], const typename P::Mask* mask, int key, int row, int last) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = row + 16 * i, safe = at < P::kQueries ? at : 0;
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) {
        const int other = key + 8 * j;
        const bool valid = other < last && (!P::kCausal || other <= at);
        float s = score[i][j] * P::plain_scale();
        if (P::kHasMask && valid) s += static_cast<float>(load(mask[safe * P::kM2 + other * P::kM3]));
        score[i][j] = valid ? s : -float_of_bits(0x7f800000u);
      }
    }
  }

  static WZ_FN void accumulate(float (&out)[kEach][kColumns][4], const FourFloats* weights, const FourFloats* values,
                               int group, int member) {
#pragma unroll 2
    for (int key = 0; key < P::kTile; key += 4) {
      FourFloats weight[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) weight[i] = weights[((group + 16 * i) * kWeightPitch + key) / 4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const FourFloats value = values[((key + k) * kValuePitch + c * 32) / 4 + member];
#pragma unroll
          for (int i = 0; i < kEach; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) out[i][c][e] += weight[i].v[k] * value.v[e];
        }
    }
  }

  static WZ_FN void write(float* row, const float (&out)[kColumns][4], float inverse, int member, bool fours) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int at = c * 32 + member * 4;
      if (at >= P::kValueSize) return;
      if (fours) {
        *reinterpret_cast<FourFloats*>(row + at) = {
            {out[c][0] * inverse, out[c][1] * inverse, out[c][2] * inverse, out[c][3] * inverse}};
        continue;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (at + e < P::kValueSize) row[(at + e) * P::kY3] = out[c][e] * inverse;
    }
  }
};

}  // namespace wz
