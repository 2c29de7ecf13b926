// SPDX-License-Identifier: Apache-2.0
// What generated kernels need of the machine, in small functions. Tests put an emulation of the same names in its
// place.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define WZ_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)  // threads, blocks at once
#define WZ_CONSTANT __device__ const
#define WZ_FN __device__ __forceinline__

namespace wz {

WZ_FN float float_of_bits(u32 bits) { return __uint_as_float(bits); }
WZ_FN u32 bits_of_float(float x) { return __float_as_uint(x); }
WZ_FN u64 bits_of_double(double x) { return static_cast<u64>(__double_as_longlong(x)); }

WZ_FN float float_of_half(u16 bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
WZ_FN u16 half_of_float(float x) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
WZ_FN float float_of_bfloat(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }
WZ_FN u16 bfloat_of_float(float x) {
#if __CUDA_ARCH__ >= 800
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const u32 bits = __float_as_uint(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<u16>(bits >> 16 | 0x40);
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
/// Rounds towards zero and makes the last bit odd where that lost something: a later rounding is then as good as one.
WZ_FN float odd_float(double x) {
  const float low = __double2float_rz(x);
  const bool exact = static_cast<double>(low) == x || !(x - x == 0);
  return exact ? low : __uint_as_float(__float_as_uint(low) | 1);
}

// Some 2^-21 of relative error: for results that are rounded to 16 bits.
WZ_FN float exp2_approx(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WZ_FN float log2_approx(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WZ_FN float rcp_approx(float x) {
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Results that are subnormal count as 0: one instruction each instead of four.
WZ_FN float exp2_normal(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WZ_FN float rcp_normal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Relative error 2^-11, one instruction (sm_75 and newer).
WZ_FN float tanh_approx(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WZ_FN float saturate(float x) { return __saturatef(x); }  // to [0, 1]; NaN: 0
WZ_FN float min_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a || a < b ? a : b;
#endif
}
WZ_FN float max_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a || a > b ? a : b;
#endif
}

// Lanes of a warp.
template <class T>
WZ_FN T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
WZ_FN T shuffle_up(T value, int delta) {
  return __shfl_up_sync(0xffffffffu, value, delta);
}
template <class T>
WZ_FN T shuffle_from(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
WZ_FN u32 ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
WZ_FN int count_bits(u32 x) { return __popc(x); }
WZ_FN int leading_zeros(u32 x) { return __clz(static_cast<int>(x)); }
WZ_FN u32 add_atomic(u32* to, u32 value) { return atomicAdd(to, value); }
WZ_FN i32 add_atomic(i32* to, i32 value) { return atomicAdd(to, value); }
WZ_FN float add_atomic(float* to, float value) { return atomicAdd(to, value); }
WZ_FN u32 exchange_if(u32* to, u32 expected, u32 value) { return atomicCAS(to, expected, value); }
WZ_FN void fence() { __threadfence(); }

// Tensor cores and the copies that feed them (sm_80 and newer).
/// d += a b for one 16x8 tile over 16 of k. Lane l has rows l / 4 and l / 4 + 8: a[0], a[2] of the first, a[1], a[3] of
/// the second, at k = 2 (l % 4) (and + 8 in a[2], a[3]); b[0] at k = 2 (l % 4), b[1] at + 8, column l / 4; d[0], d[1] of
/// the first row at columns 2 (l % 4) and next, d[2], d[3] of the second.
template <bool kBFloat>
WZ_FN void multiply_16x8x16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if (kBFloat)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
/// Four 8x8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8 by its shared-memory address.
WZ_FN void load_matrices(u32 (&to)[4], const void* row) {
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
WZ_FN void load_matrices_transposed(u32 (&to)[4], const void* row) {
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
/// 16 bytes to shared memory without registers; zeros where not `valid`.
WZ_FN void copy_async(void* to, const void* from, bool valid) {
#if __CUDA_ARCH__ >= 800
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid ? 16 : 0) : "memory");
#endif
}
WZ_FN void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kPending>
WZ_FN void wait_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}
/// Two floats as two elements of 16 bits, the first in the low half.
template <bool kBFloat>
WZ_FN u32 pack_16(float low, float high) {
#if __CUDA_ARCH__ >= 800
  u32 both;
  if (kBFloat)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return kBFloat ? bfloat_of_float(low) | static_cast<u32>(bfloat_of_float(high)) << 16
                 : half_of_float(low) | static_cast<u32>(half_of_float(high)) << 16;
#endif
}

// Programmatic dependent launch: wait for the kernels before this one, and let the next one start.
WZ_FN void after_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
WZ_FN void start_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace wz
