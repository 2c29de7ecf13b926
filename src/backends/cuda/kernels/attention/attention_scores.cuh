// SPDX-License-Identifier: Apache-2.0
// What attention kernels do with a warp's scores: 16 queries against kTile keys, as multiply_16x8x16 leaves them.
namespace wz {

template <class P, int kTile>
struct AttentionScores {
  static constexpr bool kBFloat = sizeof(typename P::T) == 2 && P::kIsBFloat;
  static WZ_FN float infinity() { return float_of_bits(0x7f800000u); }

  /// Without a mask scores stay as the products left them: their order is that of the exponents of 2, and exponent =
  /// score * unit().
  static constexpr bool kPlain = !P::kHasMask && P::kPositiveScale;
  static WZ_FN float unit() { return kPlain ? P::scale() : 1.0f; }
  /// Every tile has kTile keys that count.
  static constexpr bool kWhole = P::kKeys % kTile == 0 && !P::kCausal;

  /// Scale, mask and ends of scores against keys from `first` on.
  static WZ_FN void finish(float (&score)[kTile / 8][4], const typename P::Mask* mask, int first, int row0, int row1,
                           int quad) {
    const int safe0 = row0 < P::kQueries ? row0 : 0, safe1 = row1 < P::kQueries ? row1 : 0;
    if (!kPlain) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = first + n * 8 + quad * 2 + i % 2;
          float s = score[n][i] * P::scale();
          if (P::kHasMask && (kWhole || key < P::kKeys))
            s += static_cast<float>(load(mask[(i < 2 ? safe0 : safe1) * P::kM2 + key * P::kM3])) * 1.4426950408889634f;
          score[n][i] = s;
        }
    }
    const bool has_end = P::kKeys % kTile != 0 && first + kTile > P::kKeys;
    if (has_end || (P::kCausal && first + kTile > row0)) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = first + n * 8 + quad * 2 + i % 2, row = i < 2 ? row0 : row1;
          if (key >= P::kKeys || (P::kCausal && key > row)) score[n][i] = -infinity();
        }
    }
  }

  /// Exponentials of one row's scores; returns what earlier sums are multiplied with.
  static WZ_FN float rescale(float (&score)[kTile / 8][4], int at, float& top, float& sum) {
    float most = top;
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) most = max_nan(most, max_nan(score[n][at], score[n][at + 1]));
    most = max_nan(most, shuffle_xor(most, 1));
    most = max_nan(most, shuffle_xor(most, 2));
    const float shift = most == -infinity() ? 0.0f : most * unit();
    const float scale = exp2_normal(top * unit() - shift);
    float added = 0;
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
      score[n][at] = exp2_normal(score[n][at] * unit() - shift);
      score[n][at + 1] = exp2_normal(score[n][at + 1] * unit() - shift);
      added += score[n][at] + score[n][at + 1];
    }
    sum = sum * scale + added;
    top = most;
    return scale;
  }

  /// out += weights * values, whose rows of kV elements lie kPitch apart in shared memory; `keys` of them count.
  template <int kV, int kPitch>
  static WZ_FN void accumulate(float (&out)[kV / 8][4], const float (&score)[kTile / 8][4], const u16* values, int keys,
                               int lane) {
#pragma unroll
    for (int s = 0; s < kTile / 16; ++s) {
      if (!kWhole && s * 16 >= keys) break;
      const float* low = score[2 * s];
      const float* high = score[2 * s + 1];
      const u32 p[4] = {pack_16<kBFloat>(low[0], low[1]), pack_16<kBFloat>(low[2], low[3]), pack_16<kBFloat>(high[0], high[1]),
                        pack_16<kBFloat>(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < kV / 8; n += 2) {
        u32 part[4];
        load_matrices_transposed(part, values + (s * 16 + lane / 8 % 2 * 8 + lane % 8) * kPitch + n * 8 + lane / 16 * 8);
        const u32 first[2] = {part[0], part[1]}, second[2] = {part[2], part[3]};
        multiply_16x8x16<kBFloat>(out[n], p, first);
        multiply_16x8x16<kBFloat>(out[n + 1], p, second);
      }
    }
  }
};

}  // namespace wz
