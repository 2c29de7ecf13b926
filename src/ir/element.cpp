// SPDX-License-Identifier: Apache-2.0
#include "ir/element.h"

#include <cmath>

namespace wootz {
namespace {

/// A binary floating-point format of at most 16 bits; the sign is the bit above exponent and mantissa.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  unsigned max_finite;  // bits of the largest finite magnitude
  unsigned overflow;    // bits of what a larger magnitude becomes without saturation
  unsigned nan;         // bits of NaN, without the sign
  bool unsigned_zero;   // fnuz: no -0; its pattern is the only NaN

  int sign_shift() const { return exponent_bits + mantissa_bits; }
};

constexpr Format kHalf = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, false};
constexpr Format kBFloat = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false};

const Format& small_format(DType dtype) {
  static constexpr Format kE4M3Fn = {4, 3, 7, 0x7e, 0x7f, 0x7f, false};
  static constexpr Format kE4M3Fnuz = {4, 3, 8, 0x7f, 0x80, 0x80, true};
  static constexpr Format kE5M2 = {5, 2, 15, 0x7b, 0x7c, 0x7e, false};
  static constexpr Format kE5M2Fnuz = {5, 2, 16, 0x7f, 0x80, 0x80, true};
  static constexpr Format kE2M3 = {2, 3, 1, 0x1f, 0x1f, 0x1f, false};
  static constexpr Format kE3M2 = {3, 2, 3, 0x1f, 0x1f, 0x1f, false};
  static constexpr Format kE2M1 = {2, 1, 1, 7, 7, 7, false};
  switch (dtype) {
    case DType::kFloat8E4M3FN: return kE4M3Fn;
    case DType::kFloat8E4M3FNUZ: return kE4M3Fnuz;
    case DType::kFloat8E5M2: return kE5M2;
    case DType::kFloat8E5M2FNUZ: return kE5M2Fnuz;
    case DType::kFloat6E2M3: return kE2M3;
    case DType::kFloat6E3M2: return kE3M2;
    case DType::kFloat4E2M1: return kE2M1;
    default:
      throw Error(ErrorKind::kInternal,
                  "expected a float8, float6 or float4 type, found " + std::string(dtype_name(dtype)));
  }
}

/// The bits of finite `magnitude` >= 0 rounded to nearest even, as if the exponent had no upper end.
unsigned round_magnitude(const Format& f, double magnitude) {
  if (magnitude == 0) return 0;
  const int min_exponent = 1 - f.bias;
  const int exponent = std::max(std::ilogb(magnitude), min_exponent);
  if (exponent > f.bias + 1) return f.overflow + 1u;  // far outside: the shift below would not fit
  // Scaling by a power of two is exact; the only rounding is the one asked for.
  const auto significand =
      static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  return (static_cast<unsigned>(exponent - min_exponent) << f.mantissa_bits) + significand;
}

unsigned encode(const Format& f, double value, bool saturate) {
  const unsigned sign = static_cast<unsigned>(std::signbit(value)) << f.sign_shift();
  if (std::isnan(value)) return f.unsigned_zero ? f.nan : sign | f.nan;
  unsigned bits = std::isinf(value) ? f.max_finite + 1u : round_magnitude(f, std::abs(value));
  if (bits > f.max_finite) bits = saturate ? f.max_finite : f.overflow;
  if (f.unsigned_zero && (bits == 0 || bits == f.nan)) return bits;
  return sign | bits;
}

double decode(const Format& f, unsigned bits) {
  const unsigned magnitude = bits & ((1u << f.sign_shift()) - 1);
  const bool negative = bits >> f.sign_shift() & 1;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const unsigned mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  double value = 0;
  if (f.unsigned_zero ? bits == f.nan : magnitude > f.max_finite)
    value = magnitude == f.overflow && f.overflow != f.nan ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  else
    value = std::ldexp(mantissa + (1u << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
  return negative && !(f.unsigned_zero && std::isnan(value)) ? -value : value;
}

/// float6 and float4 have neither infinity nor NaN: what is larger becomes the largest.
bool all_finite(const Format& f) { return f.nan == f.max_finite; }

}  // namespace

float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  if (magnitude >= 0x0f800000) {  // infinity and NaN
    magnitude += 0x70000000;
  } else if (magnitude >= 0x00800000) {
    magnitude += 0x38000000;
  } else {
    magnitude = std::bit_cast<uint32_t>(static_cast<float>(bits & 0x7fff) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | magnitude);
}

uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and up
  if (magnitude < 0x38800000) {
    // Below the normal range: 0.5 has the units of a subnormal half, so the addition rounds as needed.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000) >> 13));
}

uint16_t half_from_double(double value) { return static_cast<uint16_t>(encode(kHalf, value, false)); }

float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t bfloat16_from_double(double value) { return static_cast<uint16_t>(encode(kBFloat, value, false)); }

uint8_t float8e8m0_from_float(float value, E8M0Rounding rounding, bool saturate) {
  constexpr uint8_t kNan = 0xff;
  if (std::isnan(value)) return kNan;
  const auto bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  uint32_t exponent = bits >> 23;
  const uint32_t mantissa = bits & 0x7fffff;
  if (exponent == 0xff) return saturate ? 0xfe : kNan;
  // Subnormal floats lie below 2^-126: the two smallest scales are 2^-127 (code 0) and 2^-126 (code 1).
  if (exponent == 0) {
    if (bits < 0x400000 && !saturate) return kNan;
    const bool up = rounding == E8M0Rounding::kUp ? bits > 0x400000
                                                  : rounding == E8M0Rounding::kNearest && bits >= 0x600000;
    return up ? 1 : 0;
  }
  if (rounding == E8M0Rounding::kUp ? mantissa != 0
                                    : rounding == E8M0Rounding::kNearest && mantissa >= 0x400000)
    ++exponent;
  if (exponent > 0xfe) return saturate ? 0xfe : kNan;
  return static_cast<uint8_t>(exponent);
}

float float_from_small(DType dtype, uint8_t bits) {
  if (dtype == DType::kFloat8E8M0) return bits == 0xff ? NAN : std::ldexp(1.0f, bits - 127);
  return static_cast<float>(decode(small_format(dtype), bits));
}

uint8_t small_from_float(DType dtype, float value, bool saturate) {
  if (dtype == DType::kFloat8E8M0) return float8e8m0_from_float(value, E8M0Rounding::kUp, saturate);
  const Format& format = small_format(dtype);
  // For NaN without a NaN the standard says nothing; -0 is what ONNX's own test cases expect.
  if (all_finite(format) && std::isnan(value)) return static_cast<uint8_t>(1 << format.sign_shift());
  return static_cast<uint8_t>(encode(format, value, saturate || all_finite(format)));
}

}  // namespace wootz
