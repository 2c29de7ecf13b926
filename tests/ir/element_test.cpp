// SPDX-License-Identifier: Apache-2.0
// Conversions against formulas: a value's bits give its value by definition, and rounding must find the
// nearest value, of two equally near ones the one with even bits.
#include "ir/element.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace wootz {
namespace {

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
  bool fnuz;
  int nan_codes;  // largest magnitudes that are NaN (fn: 1)
};

const Format kFormats[] = {
    {DType::kFloat16, 5, 10, 15, true, false, 0},     {DType::kBFloat16, 8, 7, 127, true, false, 0},
    {DType::kFloat8E4M3FN, 4, 3, 7, false, false, 1}, {DType::kFloat8E4M3FNUZ, 4, 3, 8, false, true, 0},
    {DType::kFloat8E5M2, 5, 2, 15, true, false, 0},   {DType::kFloat8E5M2FNUZ, 5, 2, 16, false, true, 0},
    {DType::kFloat4E2M1, 2, 1, 1, false, false, 0},   {DType::kFloat6E2M3, 2, 3, 1, false, false, 0},
    {DType::kFloat6E3M2, 3, 2, 3, false, false, 0},
};

int width(const Format& f) { return 1 + f.exponent_bits + f.mantissa_bits; }

double value_by_definition(const Format& f, unsigned bits) {
  const unsigned sign = bits >> (width(f) - 1);
  const unsigned magnitude = bits & ((1u << (width(f) - 1)) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const unsigned mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  if (f.fnuz && sign && magnitude == 0) return NAN;
  if (f.has_infinity && exponent == (1 << f.exponent_bits) - 1)
    return mantissa ? NAN : sign ? -INFINITY : INFINITY;
  if (magnitude + static_cast<unsigned>(f.nan_codes) >= 1u << (width(f) - 1)) return NAN;
  const double fraction = mantissa / std::exp2(f.mantissa_bits);
  const double value =
      exponent == 0 ? fraction * std::exp2(1 - f.bias) : (1 + fraction) * std::exp2(exponent - f.bias);
  return sign ? -value : value;
}

float decode(DType dtype, unsigned bits) {
  if (dtype == DType::kFloat16) return float_from_half(static_cast<uint16_t>(bits));
  if (dtype == DType::kBFloat16) return float_from_bfloat16(static_cast<uint16_t>(bits));
  return float_from_small(dtype, static_cast<uint8_t>(bits));
}

unsigned encode(DType dtype, float value, bool saturate) {
  if (dtype == DType::kFloat16) return half_from_float(value);
  if (dtype == DType::kBFloat16) return bfloat16_from_float(value);
  return small_from_float(dtype, value, saturate);
}

class SmallFloatTest : public testing::TestWithParam<Format> {
 protected:
  Format f = GetParam();
  unsigned sign = 1u << (width(f) - 1);
  bool always_saturates = width(f) < 8;
  bool never_saturates = dtype_size(f.dtype) == 2;

  std::vector<unsigned> finite_magnitudes() const {
    std::vector<unsigned> codes;
    for (unsigned bits = 0; bits < sign; ++bits)
      if (std::isfinite(value_by_definition(f, bits))) codes.push_back(bits);
    return codes;
  }
};

TEST_P(SmallFloatTest, EveryCodeDecodesByDefinition) {
  for (unsigned bits = 0; bits < 2 * sign; ++bits) {
    const double expected = value_by_definition(f, bits);
    const float found = decode(f.dtype, bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << bits;
    } else {
      EXPECT_EQ(found, expected) << bits;
      EXPECT_EQ(std::signbit(found), std::signbit(expected)) << bits;
    }
  }
}

TEST_P(SmallFloatTest, EveryCodeComesBack) {
  for (unsigned bits = 0; bits < 2 * sign; ++bits) {
    const float value = decode(f.dtype, bits);
    if (!std::isnan(value)) {
      EXPECT_EQ(encode(f.dtype, value, false), bits);
    }
    if (std::isfinite(value)) {
      EXPECT_EQ(encode(f.dtype, value, true), bits);
    }
  }
}

TEST_P(SmallFloatTest, RoundsToNearestEven) {
  const std::vector<unsigned> codes = finite_magnitudes();
  for (size_t i = 0; i + 1 < codes.size(); ++i) {
    const auto low = static_cast<float>(value_by_definition(f, codes[i])),
               high = static_cast<float>(value_by_definition(f, codes[i + 1]));
    const float middle = low + (high - low) / 2;  // exact: float has more bits than any of these
    const unsigned even = codes[i] % 2 == 0 ? codes[i] : codes[i + 1];
    EXPECT_EQ(encode(f.dtype, middle, true), even);
    EXPECT_EQ(encode(f.dtype, std::nextafter(middle, 0.0f), true), codes[i]);
    EXPECT_EQ(encode(f.dtype, std::nextafter(middle, INFINITY), true), codes[i + 1]);
    if (!f.fnuz || even != 0) {
      EXPECT_EQ(encode(f.dtype, -middle, true), even | sign);
    }
  }
}

TEST_P(SmallFloatTest, OverflowFollowsCast) {
  const unsigned largest = finite_magnitudes().back();
  const double max = value_by_definition(f, largest), step = max - value_by_definition(f, largest - 1);
  const auto limit =
      static_cast<float>(max + step / 2);  // from here on [x] > FLT_MAX, when the largest code is odd
  const auto below = std::nextafter(limit, 0.0f), above = std::nextafter(limit, INFINITY);
  EXPECT_EQ(encode(f.dtype, below, true), largest);
  EXPECT_EQ(encode(f.dtype, below, false), largest);
  for (const float value : {above, std::numeric_limits<float>::max(), INFINITY}) {
    if (!std::isinf(value) && value <= limit) continue;
    if (!never_saturates) {
      EXPECT_EQ(encode(f.dtype, value, true), largest);
      EXPECT_EQ(encode(f.dtype, -value, true), largest | sign);
    }
    const float beyond = decode(f.dtype, encode(f.dtype, value, false)),
                negative = decode(f.dtype, encode(f.dtype, -value, false));
    if (always_saturates) {
      EXPECT_EQ(beyond, max);
    } else if (f.has_infinity) {
      EXPECT_EQ(beyond, INFINITY);
      EXPECT_EQ(negative, -INFINITY);
    } else {
      EXPECT_TRUE(std::isnan(beyond) && std::isnan(negative));
    }
  }
}

TEST_P(SmallFloatTest, NanAndZero) {
  const unsigned nan = encode(f.dtype, NAN, true);
  if (always_saturates) {
    EXPECT_EQ(decode(f.dtype, nan), 0.0f);
  } else {
    EXPECT_TRUE(std::isnan(decode(f.dtype, nan)));
  }
  EXPECT_EQ(encode(f.dtype, 0.0f, true), 0u);
  EXPECT_EQ(encode(f.dtype, -0.0f, true), f.fnuz ? 0u : sign);
  EXPECT_EQ(encode(f.dtype, -std::numeric_limits<float>::denorm_min(), true), f.fnuz ? 0u : sign);
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloatTest, testing::ValuesIn(kFormats),
                         [](const auto& format) { return std::string(dtype_name(format.param.dtype)); });

TEST(Element, DoublesRoundOnce) {
  // 1 + 2^-11 + 2^-40: to float first, it would become the midpoint and round down.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(half_from_double(value), 0x3c01);
  EXPECT_EQ(half_from_float(static_cast<float>(value)), 0x3c00);
  EXPECT_EQ(bfloat16_from_double(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(half_from_double(65519.999), 0x7bff);
  EXPECT_EQ(half_from_double(65520), 0x7c00);
  EXPECT_EQ(half_from_double(-1e300), 0xfc00);
  EXPECT_EQ(bfloat16_from_double(1e300), 0x7f80);
  EXPECT_EQ(bfloat16_from_double(0x1p-140), 0);
}

TEST(Element, FloatAndDoublePathsAgree) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(half_from_float(value), half_from_double(value)) << value;
    ASSERT_EQ(bfloat16_from_float(value), bfloat16_from_double(value)) << value;
  }
}

TEST(Element, Float8E8M0) {
  for (unsigned bits = 0; bits < 255; ++bits) {
    const float value = float_from_small(DType::kFloat8E8M0, static_cast<uint8_t>(bits));
    EXPECT_EQ(value, std::exp2(static_cast<double>(bits) - 127));
    for (const auto rounding : {E8M0Rounding::kUp, E8M0Rounding::kDown, E8M0Rounding::kNearest}) {
      EXPECT_EQ(float8e8m0_from_float(value, rounding, true), bits);
      if (bits < 254) {
        const float next = value * 2, quarter = value * 1.25f, half = value * 1.5f;
        EXPECT_EQ(float8e8m0_from_float(quarter, rounding, true),
                  rounding == E8M0Rounding::kUp ? bits + 1 : bits)
            << next;
        EXPECT_EQ(float8e8m0_from_float(half, rounding, true),
                  rounding == E8M0Rounding::kDown ? bits : bits + 1)
            << next;
      }
    }
  }
  EXPECT_TRUE(std::isnan(float_from_small(DType::kFloat8E8M0, 255)));
  EXPECT_EQ(float8e8m0_from_float(NAN, E8M0Rounding::kUp, true), 255);
  EXPECT_EQ(float8e8m0_from_float(INFINITY, E8M0Rounding::kUp, true), 254);
  EXPECT_EQ(float8e8m0_from_float(3e38f, E8M0Rounding::kUp, true), 254);
  EXPECT_EQ(float8e8m0_from_float(0, E8M0Rounding::kUp, true), 0);
  for (const float beyond : {0.0f, INFINITY, 3e38f})
    EXPECT_EQ(float8e8m0_from_float(beyond, E8M0Rounding::kNearest, false), 255);
}

TEST(Element, SmallIntsWrap) {
  for (int64_t v = -40; v <= 40; ++v) {
    EXPECT_EQ(static_cast<int64_t>(SmallInt<4, false>(v)), v & 15);
    EXPECT_EQ(static_cast<int64_t>(SmallInt<2, false>(v)), v & 3);
    EXPECT_EQ((static_cast<int64_t>(SmallInt<4, true>(v)) - v) % 16, 0);
    EXPECT_LT(std::abs(static_cast<int64_t>(SmallInt<2, true>(v)) * 2 + 1), 4);
  }
}

TEST(Element, StorageAndNumericVisitsKnowEveryType) {
  for (int kind = 1; kind < kDTypeCount; ++kind) {
    const auto dtype = static_cast<DType>(kind);
    EXPECT_EQ(visit_storage(dtype, []<class T>(T) { return sizeof(T); }), dtype_size(dtype));
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    if (dtype == DType::kString || dtype == DType::kComplex64 || dtype == DType::kComplex128) {
      EXPECT_THROW(visit_numeric(dtype, []<class T>(T) { return sizeof(T); }), Error);
    } else {
      EXPECT_EQ(visit_numeric(dtype, []<class T>(T) { return sizeof(T); }), dtype_size(dtype));
    }
  }
}

}  // namespace
}  // namespace wootz
