// SPDX-License-Identifier: Apache-2.0
// Put before a kernel's text, this lets g++ compile it: one fibre a thread, blocks one after another
// (tests/cuda/fake/fake_driver.cpp resumes them). No header is included: kernels define the fixed-width types
// themselves. Inline PTX cannot be compiled; such code needs an alternative under WOOTZ_EMULATED.
#pragma once
#define WOOTZ_EMULATED 1
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

struct uint3 {
  unsigned x, y, z;
};
using dim3 = uint3;
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct int2 {
  int x, y;
};
struct int4 {
  int x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// What the running fibre is, and how it waits. Filled in by the driver.
struct FakeThread {
  uint3 thread, block, block_size, grid_size;
  unsigned lane, warp;                        // of the block
  unsigned long long* slots;                  // of the warp, one a lane
  void (*wait)(int of_warp, int warp_lanes);  // a barrier of the block (0) or of the warp (1)
};
extern "C" {
__attribute__((visibility("default"))) FakeThread* fake_thread;
}
#define threadIdx (fake_thread->thread)
#define blockIdx (fake_thread->block)
#define blockDim (fake_thread->block_size)
#define gridDim (fake_thread->grid_size)
#define warpSize 32

inline void __syncthreads() { fake_thread->wait(0, 0); }
inline void __syncwarp(unsigned = ~0u) { fake_thread->wait(1, 32); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
inline T fake_exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(unsigned long long), "a lane passes 8 bytes at most");
  unsigned long long* const slots = fake_thread->slots;
  __builtin_memcpy(&slots[fake_thread->lane], &value, sizeof value);
  __syncwarp();
  T result;
  __builtin_memcpy(&result, &slots[from < 32 ? from : fake_thread->lane], sizeof result);
  __syncwarp();
  return result;
}
template <class T>
inline T __shfl_sync(unsigned, T v, int lane, int width = 32) {
  const unsigned base = fake_thread->lane / width * width;
  return fake_exchange(v, base + unsigned(lane) % width);
}
template <class T>
inline T __shfl_xor_sync(unsigned, T v, int mask, int = 32) {
  return fake_exchange(v, fake_thread->lane ^ unsigned(mask));
}
template <class T>
inline T __shfl_down_sync(unsigned, T v, unsigned delta, int width = 32) {
  const unsigned lane = fake_thread->lane, to = lane + delta;
  return fake_exchange(v, to / width == lane / width ? to : lane);
}
template <class T>
inline T __shfl_up_sync(unsigned, T v, unsigned delta, int width = 32) {
  const unsigned lane = fake_thread->lane;
  return fake_exchange(v, lane % width >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned long long* const slots = fake_thread->slots;
  slots[fake_thread->lane] = predicate != 0;
  __syncwarp();
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= unsigned(slots[i] & 1) << i;
  __syncwarp();
  return bits;
}
inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
inline int __all_sync(unsigned m, int p) { return __ballot_sync(m, !p) == 0; }

inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
template <class T>
inline T __ldg(const T* p) {
  return *p;
}
template <class T>
inline T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
inline T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
inline T atomicAdd(T* p, T v) {
  T old = *p;
  *p = old + v;
  return old;
}
template <class T>
inline T atomicMax(T* p, T v) {
  T old = *p;
  *p = old < v ? v : old;
  return old;
}
template <class T>
inline T atomicMin(T* p, T v) {
  T old = *p;
  *p = v < old ? v : old;
  return old;
}

#define FAKE_MATH(name)                                            \
  inline float name##f(float x) { return __builtin_##name##f(x); } \
  inline double name(double x) { return __builtin_##name(x); }
FAKE_MATH(exp)
FAKE_MATH(exp2)
FAKE_MATH(expm1)
FAKE_MATH(log)
FAKE_MATH(log2)
FAKE_MATH(log1p) FAKE_MATH(sqrt) FAKE_MATH(sin) FAKE_MATH(cos) FAKE_MATH(tan) FAKE_MATH(asin) FAKE_MATH(acos)
    FAKE_MATH(atan) FAKE_MATH(sinh) FAKE_MATH(cosh) FAKE_MATH(tanh) FAKE_MATH(asinh) FAKE_MATH(acosh)
        FAKE_MATH(atanh) FAKE_MATH(erf) FAKE_MATH(fabs) FAKE_MATH(floor) FAKE_MATH(ceil) FAKE_MATH(rint)
            FAKE_MATH(nearbyint) FAKE_MATH(round) FAKE_MATH(trunc) inline float rsqrtf(float x) {
  return 1.0f / __builtin_sqrtf(x);
}
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float powf(float a, float b) { return __builtin_powf(a, b); }
inline double pow(double a, double b) { return __builtin_pow(a, b); }
inline float fmodf(float a, float b) { return __builtin_fmodf(a, b); }
inline double fmod(double a, double b) { return __builtin_fmod(a, b); }
inline float fminf(float a, float b) { return __builtin_fminf(a, b); }
inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
inline double fmin(double a, double b) { return __builtin_fmin(a, b); }
inline double fmax(double a, double b) { return __builtin_fmax(a, b); }
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
inline double copysign(double a, double b) { return __builtin_copysign(a, b); }
inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
