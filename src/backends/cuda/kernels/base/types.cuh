// SPDX-License-Identifier: Apache-2.0
// Numbers of fixed width and the 16-bit floats, as plain C++: NVRTC comes without headers.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

struct float16 {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};

#ifdef WOOTZ_EMULATED  // on the CPU, for tests
inline float half_to_float(uint16_t bits) { return float(__builtin_bit_cast(_Float16, bits)); }
inline uint16_t float_to_half(float x) { return __builtin_bit_cast(uint16_t, _Float16(x)); }
#else
__device__ __forceinline__ float half_to_float(uint16_t bits) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
  return y;
}
__device__ __forceinline__ uint16_t float_to_half(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(float16 x) { return half_to_float(x.bits); }
__device__ __forceinline__ float to_float(bfloat16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }

/// Rounds to the nearest, ties to even; what is too large becomes infinite, NaN stays NaN.
template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ float16 from_float<float16>(float x) {
  return {float_to_half(x)};
}
template <>
__device__ __forceinline__ bfloat16 from_float<bfloat16>(float x) {
  const uint32_t bits = __float_as_uint(x);
  if (x != x) return {uint16_t(bits >> 16 | 0x40)};
  return {uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
