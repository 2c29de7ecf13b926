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

void requantize_row_avx512vnni(const Requantize& r, const int32_t* sums, const int32_t* correction,
                               int64_t column, int64_t count, uint8_t* to) {
  const Quantizer quantize(r.tail);
  const __m512 low = _mm512_set1_ps(r.clip_low), high = _mm512_set1_ps(r.clip_high);
  const float *factor = r.factor.data() + column, *bias = r.bias.data() + column;
  for (int64_t j = 0; j < count; j += 16) {
    const __mmask16 m = tail_mask(count - j);
    __m512i sum = _mm512_maskz_loadu_epi32(m, sums + j);
    if (correction) sum = _mm512_sub_epi32(sum, _mm512_maskz_loadu_epi32(m, correction + j));
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_maskz_loadu_ps(m, factor + j));
    const __m512 v = _mm512_add_ps(product, _mm512_maskz_loadu_ps(m, bias + j));
    _mm_mask_storeu_epi8(to + j, m, quantize(_mm512_min_ps(_mm512_max_ps(v, low), high)));
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
