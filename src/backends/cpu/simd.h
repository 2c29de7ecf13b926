// SPDX-License-Identifier: Apache-2.0
// One float vector type for kernels that are compiled once per instruction set. Everything lives in a
// namespace named after the set: the linker must never take one set's inline function for another's.
#pragma once
#include <immintrin.h>

#include <cstdint>

#if defined(__AVX512F__)
#define WOOTZ_SIMD simd_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define WOOTZ_SIMD simd_avx2
#else
#define WOOTZ_SIMD simd_portable
#endif
#define WOOTZ_INLINE inline __attribute__((always_inline))

namespace wootz::WOOTZ_SIMD {

#if defined(__AVX512F__)

struct Vec {
  __m512 v;
};
inline constexpr int kWidth = 16;
WOOTZ_INLINE Vec set1(float x) { return {_mm512_set1_ps(x)}; }
WOOTZ_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
WOOTZ_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
/// The first n elements, the others zero; n may exceed the width or be negative.
WOOTZ_INLINE __mmask16 first(int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}
WOOTZ_INLINE Vec load_n(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
WOOTZ_INLINE void store_n(float* p, Vec a, int64_t n) { _mm512_mask_storeu_ps(p, first(n), a.v); }
WOOTZ_INLINE Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
/// a * b + c and c - a * b
WOOTZ_INLINE Vec fmadd(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
WOOTZ_INLINE Vec fnmadd(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
/// The second operand where one is NaN.
WOOTZ_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
/// NaN where one operand is.
WOOTZ_INLINE Vec maximum(Vec a, Vec b) {
  return {_mm512_mask_mov_ps(max(a, b).v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), a.v)};
}
WOOTZ_INLINE float sum(Vec a) { return _mm512_reduce_add_ps(a.v); }

#elif defined(__AVX2__) && defined(__FMA__)

struct Vec {
  __m256 v;
};
inline constexpr int kWidth = 8;
WOOTZ_INLINE Vec set1(float x) { return {_mm256_set1_ps(x)}; }
WOOTZ_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
WOOTZ_INLINE void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }
WOOTZ_INLINE __m256i first(int64_t n) {
  const int count = n >= 8 ? 8 : n <= 0 ? 0 : static_cast<int>(n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
WOOTZ_INLINE Vec load_n(const float* p, int64_t n) { return {_mm256_maskload_ps(p, first(n))}; }
WOOTZ_INLINE void store_n(float* p, Vec a, int64_t n) { _mm256_maskstore_ps(p, first(n), a.v); }
WOOTZ_INLINE Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec fmadd(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
WOOTZ_INLINE Vec fnmadd(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
WOOTZ_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec maximum(Vec a, Vec b) {
  return {_mm256_blendv_ps(max(a, b).v, a.v, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))};
}
WOOTZ_INLINE float sum(Vec a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

#else  // SSE2, that every x86-64 has

struct Vec {
  __m128 v;
};
inline constexpr int kWidth = 4;
WOOTZ_INLINE Vec set1(float x) { return {_mm_set1_ps(x)}; }
WOOTZ_INLINE Vec load(const float* p) { return {_mm_loadu_ps(p)}; }
WOOTZ_INLINE void store(float* p, Vec a) { _mm_storeu_ps(p, a.v); }
WOOTZ_INLINE Vec load_n(const float* p, int64_t n) {
  if (n >= 4) return load(p);
  float t[4] = {};
  for (int i = 0; i < 3 && i < n; ++i) t[i] = p[i];
  return load(t);
}
WOOTZ_INLINE void store_n(float* p, Vec a, int64_t n) {
  if (n >= 4) return store(p, a);
  float t[4];
  store(t, a);
  for (int i = 0; i < 3 && i < n; ++i) p[i] = t[i];
}
WOOTZ_INLINE Vec add(Vec a, Vec b) { return {_mm_add_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec sub(Vec a, Vec b) { return {_mm_sub_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec mul(Vec a, Vec b) { return {_mm_mul_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec fmadd(Vec a, Vec b, Vec c) { return add(mul(a, b), c); }
WOOTZ_INLINE Vec fnmadd(Vec a, Vec b, Vec c) { return sub(c, mul(a, b)); }
WOOTZ_INLINE Vec max(Vec a, Vec b) { return {_mm_max_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec min(Vec a, Vec b) { return {_mm_min_ps(a.v, b.v)}; }
WOOTZ_INLINE Vec maximum(Vec a, Vec b) {
  const __m128 is_nan = _mm_cmpunord_ps(a.v, a.v);
  return {_mm_or_ps(_mm_and_ps(is_nan, a.v), _mm_andnot_ps(is_nan, max(a, b).v))};
}
WOOTZ_INLINE float sum(Vec a) {
  float t[4];
  store(t, a);
  return (t[0] + t[1]) + (t[2] + t[3]);
}

#endif

}  // namespace wootz::WOOTZ_SIMD
