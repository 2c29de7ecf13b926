// SPDX-License-Identifier: Apache-2.0
// Element types as they lie in memory, and the registers that arithmetic has them in: float for every kind of at most
// 32 bits, double, bool, and integers of their own width.
namespace wz {

struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct i4 { i8 value; };
struct u4 { u8 value; };
struct i2 { i8 value; };
struct u2 { u8 value; };

/// A float of at most 8 bits: as in the reference, `kOverflow` is what too large a magnitude becomes without
/// saturation, and with kUnsignedZero the pattern of -0 is the only NaN.
template <int kExponentBits, int kMantissaBits, int kBias, u32 kMax, u32 kOverflow, u32 kNan, bool kUnsignedZero>
struct Small {
  u8 bits;
  static constexpr int kSign = kExponentBits + kMantissaBits;

  static WZ_FN u32 magnitude(float x) {
    const u32 b = bits_of_float(x) & 0x7fffffffu;
    const int exponent = static_cast<int>(b >> 23) - 127;
    const int low = 1 - kBias;
    if (exponent > kBias + 1) return kMax + 1;
    if (exponent < low - kMantissaBits - 2) return 0;
    const int at = exponent > low ? exponent : low;
    const int shift = 23 - kMantissaBits + (at - exponent);
    const u32 significand = (b & 0x7fffffu) | 0x800000u;
    const u32 half = 1u << (shift - 1), rest = significand & ((1u << shift) - 1);
    u32 kept = significand >> shift;
    if (rest > half || (rest == half && (kept & 1))) ++kept;
    return (static_cast<u32>(at - low) << kMantissaBits) + kept;
  }
  static WZ_FN Small encode(float x, bool saturate) {
    const u32 sign = (bits_of_float(x) >> 31) << kSign;
    // Without NaN, as ONNX's test cases have it: -0.
    if (x != x) return {static_cast<u8>(kNan == kMax ? 1u << kSign : kUnsignedZero ? kNan : sign | kNan)};
    u32 b = magnitude(x);
    if (b > kMax) b = saturate ? kMax : kOverflow;
    if (kUnsignedZero && (b == 0 || b == kNan)) return {static_cast<u8>(b)};
    return {static_cast<u8>(sign | b)};
  }
  WZ_FN float decode() const {
    const u32 mask = (1u << kSign) - 1, m = bits & mask;
    if (kUnsignedZero ? bits == kNan : m > kMax)
      return float_of_bits((m == kOverflow && kOverflow != kNan ? 0x7f800000u : 0x7fc00000u) |
                           static_cast<u32>(bits >> kSign) << 31);
    const int exponent = static_cast<int>(m >> kMantissaBits);
    const u32 mantissa = m & ((1u << kMantissaBits) - 1);
    const float unit = float_of_bits(static_cast<u32>(127 + (exponent ? exponent : 1) - kBias - kMantissaBits) << 23);
    const float value = static_cast<float>(exponent ? mantissa + (1u << kMantissaBits) : mantissa) * unit;
    return bits >> kSign & 1 ? -value : value;
  }
};
using f8e4m3fn = Small<4, 3, 7, 0x7e, 0x7f, 0x7f, false>;
using f8e4m3fnuz = Small<4, 3, 8, 0x7f, 0x80, 0x80, true>;
using f8e5m2 = Small<5, 2, 15, 0x7b, 0x7c, 0x7e, false>;
using f8e5m2fnuz = Small<5, 2, 16, 0x7f, 0x80, 0x80, true>;
using f6e2m3 = Small<2, 3, 1, 0x1f, 0x1f, 0x1f, false>;
using f6e3m2 = Small<3, 2, 3, 0x1f, 0x1f, 0x1f, false>;
using f4 = Small<2, 1, 1, 7, 7, 7, false>;
struct f8e8m0 { u8 bits; };

WZ_FN float load(float x) { return x; }
WZ_FN double load(double x) { return x; }
WZ_FN float load(f16 x) { return float_of_half(x.bits); }
WZ_FN float load(bf16 x) { return float_of_bfloat(x.bits); }
WZ_FN float load(f8e4m3fn x) { return x.decode(); }
WZ_FN float load(f8e4m3fnuz x) { return x.decode(); }
WZ_FN float load(f8e5m2 x) { return x.decode(); }
WZ_FN float load(f8e5m2fnuz x) { return x.decode(); }
WZ_FN float load(f6e2m3 x) { return x.decode(); }
WZ_FN float load(f6e3m2 x) { return x.decode(); }
WZ_FN float load(f4 x) { return x.decode(); }
WZ_FN float load(f8e8m0 x) {
  return x.bits == 255 ? float_of_bits(0x7fc00000u) : float_of_bits(x.bits ? static_cast<u32>(x.bits) << 23 : 0x400000u);
}
WZ_FN bool load(bool x) { return x; }
WZ_FN i8 load(i8 x) { return x; }
WZ_FN u8 load(u8 x) { return x; }
WZ_FN i16 load(i16 x) { return x; }
WZ_FN u16 load(u16 x) { return x; }
WZ_FN i32 load(i32 x) { return x; }
WZ_FN u32 load(u32 x) { return x; }
WZ_FN i64 load(i64 x) { return x; }
WZ_FN u64 load(u64 x) { return x; }
WZ_FN i8 load(i4 x) { return x.value; }
WZ_FN u8 load(u4 x) { return x.value; }
WZ_FN i8 load(i2 x) { return x.value; }
WZ_FN u8 load(u2 x) { return x.value; }

/// A register as an element of memory type M.
template <class M>
struct Element {
  template <class R>
  static WZ_FN M of(R x) { return static_cast<M>(x); }
};
template <>
struct Element<f16> {
  static WZ_FN f16 of(float x) { return {half_of_float(x)}; }
  static WZ_FN f16 of(double x) { return {half_of_float(odd_float(x))}; }
};
template <>
struct Element<bf16> {
  static WZ_FN bf16 of(float x) { return {bfloat_of_float(x)}; }
  static WZ_FN bf16 of(double x) { return {bfloat_of_float(odd_float(x))}; }
};
template <int kE, int kM, int kBias, u32 kMax, u32 kOverflow, u32 kNan, bool kZero>
struct Element<Small<kE, kM, kBias, kMax, kOverflow, kNan, kZero>> {
  using M = Small<kE, kM, kBias, kMax, kOverflow, kNan, kZero>;
  static WZ_FN M of(float x) { return M::encode(x, true); }
  static WZ_FN M of(double x) { return M::encode(odd_float(x), true); }
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
template <>
struct Element<f8e4m3fn> {
  static WZ_FN f8e4m3fn of(float x) {
    u16 pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    return {static_cast<u8>(pair)};
  }
  static WZ_FN f8e4m3fn of(double x) { return of(odd_float(x)); }
};
#endif
template <>
struct Element<f8e8m0> {
  /// Rounds up, drops the sign, saturates.
  static WZ_FN f8e8m0 of(float x) {
    const u32 b = bits_of_float(x) & 0x7fffffffu;
    if (x != x) return {255};
    if (b >= 0x7f800000u) return {254};
    if (b < 0x800000u) return {static_cast<u8>(b > 0x400000u)};
    const u32 exponent = (b >> 23) + ((b & 0x7fffffu) != 0);
    return {static_cast<u8>(exponent > 254 ? 254 : exponent)};
  }
  static WZ_FN f8e8m0 of(double x) { return of(static_cast<float>(x)); }
};
template <>
struct Element<i4> {
  static WZ_FN i4 of(i32 x) { return {static_cast<i8>(static_cast<i32>(static_cast<u32>(x) << 28) >> 28)}; }
};
template <>
struct Element<u4> {
  static WZ_FN u4 of(u32 x) { return {static_cast<u8>(x & 15u)}; }
};
template <>
struct Element<i2> {
  static WZ_FN i2 of(i32 x) { return {static_cast<i8>(static_cast<i32>(static_cast<u32>(x) << 30) >> 30)}; }
};
template <>
struct Element<u2> {
  static WZ_FN u2 of(u32 x) { return {static_cast<u8>(x & 3u)}; }
};
template <class M, class R>
WZ_FN M store(R x) { return Element<M>::of(x); }

/// Elements that are moved as they are.
struct alignas(16) Bytes16 { u32 word[4]; };

/// kCount neighbours at once where they are aligned, one by one where not. kCount * sizeof(M) is a power of two.
template <int kBytes> struct Chunk { using Type = Bytes16; };
template <> struct Chunk<1> { using Type = u8; };
template <> struct Chunk<2> { using Type = u16; };
template <> struct Chunk<4> { using Type = u32; };
template <> struct Chunk<8> { using Type = u64; };
template <class M, int kCount>
union Vector {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(M));
  static constexpr int kChunk = kBytes < 16 ? kBytes : 16;
  M at[kCount];
  typename Chunk<kChunk>::Type chunks[kBytes / kChunk];
};
template <int kCount, class M>
WZ_FN void load_vector(Vector<M, kCount>& to, const M* from, bool aligned) {
  using V = Vector<M, kCount>;
  if (aligned) {
#pragma unroll
    for (int i = 0; i < V::kBytes / V::kChunk; ++i)
      to.chunks[i] = reinterpret_cast<const typename Chunk<V::kChunk>::Type*>(from)[i];
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to.at[i] = from[i];
  }
}
template <int kCount, class M>
WZ_FN void store_vector(M* to, const Vector<M, kCount>& from, bool aligned) {
  using V = Vector<M, kCount>;
  if (aligned) {
#pragma unroll
    for (int i = 0; i < V::kBytes / V::kChunk; ++i)
      reinterpret_cast<typename Chunk<V::kChunk>::Type*>(to)[i] = from.chunks[i];
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = from.at[i];
  }
}
/// The first `count` of kCount neighbours: the end of an array.
template <int kCount, class M>
WZ_FN void load_first(Vector<M, kCount>& to, const M* from, int count) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < count) to.at[i] = from[i];
}
template <int kCount, class M>
WZ_FN void store_first(M* to, const Vector<M, kCount>& from, int count) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < count) to[i] = from.at[i];
}
WZ_FN bool is_aligned(const void* p) { return (reinterpret_cast<u64>(p) & 15) == 0; }

}  // namespace wz
