// SPDX-License-Identifier: Apache-2.0
// 16-bit floats for the fakes of NVIDIA's libraries.
#pragma once
#include <cstdint>
#include <cstring>

namespace wootz::fake {

enum class Float { k32, k16, kBrain };

inline float read(Float type, const void* from, int64_t at) {
  if (type == Float::k32) return static_cast<const float*>(from)[at];
  const uint16_t bits = static_cast<const uint16_t*>(from)[at];
  if (type == Float::k16) return static_cast<float>(__builtin_bit_cast(_Float16, bits));
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
inline void write(Float type, void* to, int64_t at, float x) {
  if (type == Float::k32) {
    static_cast<float*>(to)[at] = x;
  } else if (type == Float::k16) {
    static_cast<uint16_t*>(to)[at] = __builtin_bit_cast(uint16_t, static_cast<_Float16>(x));
  } else {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    static_cast<uint16_t*>(to)[at] =
        x != x ? 0x7fc0 : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

}  // namespace wootz::fake
