// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <cstdint>

namespace wootz {

/// Multiples of 8 elements; the caller does the rest.
void widen_half_avx2(const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
}
void narrow_half_avx2(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

}  // namespace wootz
