// SPDX-License-Identifier: Apache-2.0
// A lane's share of a chunk of packed weights (weight_tiles.h) as numbers: pairs of 16 bits for the matrix unit, or floats.
// Needs FORM, HAS_ZEROS, ZERO and the element types of codegen.
//
// Integers become floats without conversions: they are put below the leading digit of a power of two, which is then
// subtracted together with the zero point; both steps are exact.

// What is subtracted from the stored integers of columns l / 4 and l / 4 + 8.
struct Zeros {
  float of[2];
};
WZ_FN Zeros zeros_at(const u8* zeros, int at) {
#if HAS_ZEROS
  return {{(float)zeros[at], (float)zeros[at + 8]}};
#else
  return {{(float)(ZERO), (float)(ZERO)}};
#endif
}

// A lane's part of a chunk; `places` of what is left of every four.
struct Words {
  wz::Bytes16 all;
  u32 places;
};

// Read by nobody else: it need not stay in the cache that the rows of A are in.
WZ_FN wz::Bytes16 read_once(const u8* from) {
  wz::Bytes16 v;
#ifdef WZ_EMULATED
  v = *reinterpret_cast<const wz::Bytes16*>(from);
#else
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "l"(from));
#endif
  return v;
}

// Bytes `at` and `at` + 1 of a word, each above or below a byte of `other`.
template <bool kAbove>
WZ_FN u32 spread_bytes(u32 word, u32 other, int at) {
#ifdef WZ_EMULATED
  const u32 low = word >> 8 * at & 255, high = word >> 8 * (at + 1) & 255, o = other & 255;
  return kAbove ? o | low << 8 | o << 16 | high << 24 : low | o << 8 | high << 16 | o << 24;
#else
  const u32 choice = kAbove ? (at ? 0x3424u : 0x1404u) : (at ? 0x4342u : 0x4140u);
  return __byte_perm(word, other, choice);
#endif
}

#if FORM >= 4
// Which of four places the group's two elements have: bits 0, 1 of the first, 2, 3 of the second.
WZ_FN u32 places_of(const Words& words, int s, int r) { return words.places >> 4 * (2 * s + r); }
#elif FORM != 1
// Byte `at` of a word; float8e4m3fn comes times 2^-8.
WZ_FN float float_of_byte(u32 word, int at, float zero) {
  const u32 byte = word >> 8 * at & 255;
#if FORM == 0
  return wz::float_of_bits(byte | 0x4b000000u) - (8388608.0f + zero);
#elif FORM == 2
  return wz::float_of_bits((byte & 0x80u) << 24 | (byte & 0x7fu) << 20) * 0x1p112f;
#else
  return wz::float_of_bits((byte & 0x80u) << 24 | (byte & 0x7fu) << 21) * 0x1p112f;
#endif
}
#endif

#if USE_MMA
// x * y - z of pairs, exact here.
WZ_FN u32 pair_times_minus(u32 x, u32 y, u32 z) {
  constexpr bool kBFloat = !kIsHalf<Element>;
#ifdef WZ_EMULATED
  float r[2];
  for (int i = 0; i < 2; ++i)
    r[i] = wz::small_float<kBFloat>(x, i) * wz::small_float<kBFloat>(y, i) - wz::small_float<kBFloat>(z, i);
  return wz::pack_16<kBFloat>(r[0], r[1]);
#else
  u32 d;
  z ^= 0x80008000u;
  if constexpr (kBFloat)
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
  else
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
  return d;
#endif
}

// An element of 16 bits at one of four places.
WZ_FN void place_half(u32 (&at)[2], u32 half, u32 place) {
  const u32 moved = half << (place & 1) * 16;
  at[0] |= place < 2 ? moved : 0u, at[1] |= place < 2 ? 0u : moved;
}

// The left operand of the matrix unit for step s: columns l / 4 and l / 4 + 8 at k = 0, 1, then at k = 2, 3 of the lane's four.
WZ_FN void unpack_pairs(u32 (&w)[4], const Words& words, int s, const Zeros& zeros) {
  constexpr bool kHalf = kIsHalf<Element>;
  const auto both = [](float x) { return wz::pack_16<!kHalf>(x, x); };
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if FORM == 4
    const u32 pair = words.all.word[2 * s + r], places = places_of(words, s, r);
    u32 at[2] = {};
    place_half(at, pair & 0xffffu, places & 3);
    place_half(at, pair >> 16, places >> 2 & 3);
    w[r] = at[0], w[r + 2] = at[1];
#elif FORM == 1
    const u32 word = words.all.word[s] >> 8 * r;
    if constexpr (kHalf) {  // 1024 + q; 1024 + 16 q, of which a sixteenth
      w[r] = pair_times_minus((word & 0x000f000fu) | 0x64006400u, both(1), both(1024 + zeros.of[r]));
      w[r + 2] = pair_times_minus((word & 0x00f000f0u) | 0x64006400u, both(0.0625f), both(64 + zeros.of[r]));
    } else {  // 128 + q
      w[r] = pair_times_minus((word & 0x000f000fu) | 0x43004300u, both(1), both(128 + zeros.of[r]));
      w[r + 2] = pair_times_minus((word >> 4 & 0x000f000fu) | 0x43004300u, both(1), both(128 + zeros.of[r]));
    }
#else
    const u32 word = words.all.word[2 * s + r];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#if FORM == 0
      if constexpr (kHalf) {
        w[r + 2 * half] = pair_times_minus(spread_bytes<false>(word, 0x64646464u, 2 * half), both(1), both(1024 + zeros.of[r]));
        continue;
      }
#elif FORM == 3
      if constexpr (kHalf) {
        w[r + 2 * half] = spread_bytes<true>(word, 0, 2 * half);
        continue;
      }
#else
      if constexpr (kHalf) {
        const u32 x = spread_bytes<true>(word, 0, 2 * half);
        w[r + 2 * half] = (x & 0x80008000u) | (x >> 1 & 0x3f803f80u);
        continue;
      }
#endif
      w[r + 2 * half] = wz::pack_16<true>(float_of_byte(word, 2 * half, zeros.of[r]), float_of_byte(word, 2 * half + 1, zeros.of[r]));
    }
#endif
  }
}
#else

#if FORM >= 4
template <class T>
WZ_FN float half_float(u32 bits) {
  if constexpr (sizeof(T) == 2)
    return wz::load(T{(u16)bits});
  else
    return 0;
}
#endif

WZ_FN void unpack_floats(float (&w)[2][4], const Words& words, int s, const Zeros& zeros) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#if FORM >= 4
      const u32 places = places_of(words, s, r);
      const float first = FORM == 5 ? wz::float_of_bits(words.all.word[2 * r]) : half_float<Element>(words.all.word[2 * s + r]);
      const float second = FORM == 5 ? wz::float_of_bits(words.all.word[2 * r + 1]) : half_float<Element>(words.all.word[2 * s + r] >> 16);
      w[r][i] = (places & 3) == i ? first : (places >> 2 & 3) == i ? second : 0.0f;
#elif FORM == 1
      // Nibbles of columns l / 4 and + 8 at k = 0, 1, 2, 3 begin at these bits; those above the digits of a float are moved.
      const int bit = (i % 2) * 16 + (i / 2) * 4 + r * 8, place = bit > 16 ? bit - 12 : bit;
      const u32 word = bit > 16 ? words.all.word[s] >> 12 : words.all.word[s];
      const u32 power = 0x4b000000u - ((u32)place << 23);  // 2^(23 - place)
      w[r][i] = wz::float_of_bits((word & (15u << place)) | power) - (wz::float_of_bits(power) + zeros.of[r]);
#else
      w[r][i] = float_of_byte(words.all.word[2 * s + r], i, zeros.of[r]);
#endif
    }
}
#endif
