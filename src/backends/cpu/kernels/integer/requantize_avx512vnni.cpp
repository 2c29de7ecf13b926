// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "backends/cpu/kernels/integer/requantize.h"

namespace wootz {
namespace {

/// x / scale, correctly rounded: a product by the reciprocal and one correction step.
struct Quantizer {
  explicit Quantizer(const QuantizeTail& t)
      : scale(_mm512_set1_ps(t.scale)),
        inverse(_mm512_set1_ps(1 / t.scale)),
        least(_mm512_set1_ps((t.low - t.zero - 1) * t.scale)),
        most(_mm512_set1_ps((t.high - t.zero + 1) * t.scale)),
        low(_mm512_set1_ps(t.low - t.zero)),
        high(_mm512_set1_ps(t.high - t.zero)),
        zero(_mm512_set1_epi32(static_cast<int>(t.zero))) {}

  /// Bounds of the integer result are taken before rounding; a NaN becomes the lower one.
  __m128i operator()(__m512 x) const {
    x = _mm512_min_ps(_mm512_max_ps(x, least), most);
    const __m512 q = _mm512_mul_ps(x, inverse), rest = _mm512_fnmadd_ps(q, scale, x);
    const __m512 exact = _mm512_fmadd_ps(rest, inverse, q);
    const __m512 bounded = _mm512_min_ps(_mm512_max_ps(exact, low), high);
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_cvtps_epi32(bounded), zero));
  }

  __m512 scale, inverse, least, most, low, high;
  __m512i zero;
};

__mmask16 tail_mask(int64_t left) { return left >= 16 ? 0xffff : static_cast<__mmask16>((1u << left) - 1); }

}  // namespace

namespace {

enum class Residual { kNone, kFloat, kUnsigned, kSigned };

template <Residual kResidual>
__m512 residual(const TailAddend& a, const void* data, int64_t at, __mmask16 m) {
  if constexpr (kResidual == Residual::kFloat) {
    return _mm512_maskz_loadu_ps(m, static_cast<const float*>(data) + at);
  } else {
    const __m128i bytes = _mm_maskz_loadu_epi8(m, static_cast<const uint8_t*>(data) + at);
    const __m512i wide =
        kResidual == Residual::kUnsigned ? _mm512_cvtepu8_epi32(bytes) : _mm512_cvtepi8_epi32(bytes);
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(wide), _mm512_set1_ps(a.zero)),
                         _mm512_set1_ps(a.scale));
  }
}

template <Residual kResidual, bool kBytes>
void tile(const Requantize& r, const RequantizeTile& t) {
  const Quantizer quantize(r.tail.value_or(QuantizeTail()));
  const __m512 low = _mm512_set1_ps(r.clip_low), high = _mm512_set1_ps(r.clip_high);
  for (int64_t j = 0; j < t.columns; j += 16) {
    const __mmask16 m = tail_mask(t.columns - j);
    const __m512 factor = _mm512_maskz_loadu_ps(m, r.factor.data() + t.column + j),
                 bias = _mm512_maskz_loadu_ps(m, r.bias.data() + t.column + j);
    const __m512i correction =
        t.correction ? _mm512_maskz_loadu_epi32(m, t.correction + j) : _mm512_setzero_si512();
    for (int64_t row = 0; row < t.rows; ++row) {
      const __m512i sum = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(m, t.sums + row * t.ld + j), correction);
      __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), factor), bias);
      if constexpr (kResidual != Residual::kNone)
        v = _mm512_add_ps(v, residual<kResidual>(r.addend, t.addend, row * t.addend_pitch + j, m));
      v = _mm512_min_ps(_mm512_max_ps(v, low), high);
      if constexpr (kBytes)
        _mm_mask_storeu_epi8(static_cast<uint8_t*>(t.to) + row * t.pitch + j, m, quantize(v));
      else
        _mm512_mask_storeu_ps(static_cast<float*>(t.to) + row * t.pitch + j, m, v);
    }
  }
}

template <Residual kResidual>
void tile_of(const Requantize& r, const RequantizeTile& t) {
  r.tail ? tile<kResidual, true>(r, t) : tile<kResidual, false>(r, t);
}

}  // namespace

void requantize_tile_avx512vnni(const Requantize& r, const RequantizeTile& t) {
  if (r.addend.operand < 0) return tile_of<Residual::kNone>(r, t);
  switch (r.addend.dtype) {
    case DType::kFloat32: return tile_of<Residual::kFloat>(r, t);
    case DType::kUint8: return tile_of<Residual::kUnsigned>(r, t);
    default: return tile_of<Residual::kSigned>(r, t);
  }
}

void quantize_row_avx512vnni(const QuantizeTail& tail, const float* values, int64_t count, uint8_t* to) {
  const Quantizer quantize(tail);
  for (int64_t j = 0; j < count; j += 16) {
    const __mmask16 m = tail_mask(count - j);
    _mm_mask_storeu_epi8(to + j, m, quantize(_mm512_maskz_loadu_ps(m, values + j)));
  }
}

}  // namespace wootz
