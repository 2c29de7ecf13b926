// SPDX-License-Identifier: Apache-2.0
// Element types that C++ lacks, and dispatch from a DType to the C++ type of its elements in memory.
#pragma once
#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "ir/dtype.h"

namespace wootz {

/// Conversions round to nearest, ties to even; overflow gives what ONNX's Cast without saturation gives.
float float_from_half(uint16_t bits);
uint16_t half_from_float(float value);
uint16_t half_from_double(double value);
float float_from_bfloat16(uint16_t bits);
uint16_t bfloat16_from_float(float value);
uint16_t bfloat16_from_double(double value);
/// float8, float6 and float4 kinds, by dtype. `saturate`: out-of-range values become the largest finite one
/// (ONNX Cast-19).
float float_from_small(DType dtype, uint8_t bits);
uint8_t small_from_float(DType dtype, float value, bool saturate);
/// float8e8m0 holds a power of two (a scale); the sign is dropped. Cast's `round_mode` tells how others are
/// rounded; small_from_float rounds up, which is Cast's default.
enum class E8M0Rounding : uint8_t { kUp, kDown, kNearest };
uint8_t float8e8m0_from_float(float value, E8M0Rounding rounding, bool saturate);

/// A 16-bit or 8-bit float held as its bits, arithmetic in float.
template <DType kDtype>
struct SmallFloat {
  static constexpr DType kType = kDtype;
  using Bits = std::conditional_t<kDtype == DType::kFloat16 || kDtype == DType::kBFloat16, uint16_t, uint8_t>;
  Bits bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(double v) {
    if constexpr (kDtype == DType::kFloat16)
      bits = half_from_double(v);
    else if constexpr (kDtype == DType::kBFloat16)
      bits = bfloat16_from_double(v);
    else
      bits = small_from_float(kDtype, static_cast<float>(v), true);
  }
  explicit SmallFloat(float v) {
    if constexpr (kDtype == DType::kFloat16)
      bits = half_from_float(v);
    else if constexpr (kDtype == DType::kBFloat16)
      bits = bfloat16_from_float(v);
    else
      bits = small_from_float(kDtype, v, true);
  }
  explicit operator float() const {
    if constexpr (kDtype == DType::kFloat16)
      return float_from_half(bits);
    else if constexpr (kDtype == DType::kBFloat16)
      return float_from_bfloat16(bits);
    else
      return float_from_small(kDtype, bits);
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};
using Half = SmallFloat<DType::kFloat16>;
using BFloat16 = SmallFloat<DType::kBFloat16>;

/// 2- and 4-bit integers: a byte each in memory, wrapping like two's complement of their width.
template <int kBits, bool kSigned>
struct SmallInt {
  int8_t value = 0;
  SmallInt() = default;
  explicit SmallInt(int64_t v) {
    const unsigned low = static_cast<unsigned>(v) & ((1u << kBits) - 1);
    value = static_cast<int8_t>(kSigned && (low >> (kBits - 1)) ? static_cast<int>(low) - (1 << kBits)
                                                                : static_cast<int>(low));
  }
  explicit operator int64_t() const { return value; }
  explicit operator double() const { return value; }
  explicit operator float() const { return value; }
};

/// Calls f(T{}) with T the C++ type of the dtype's elements in memory, for every numeric dtype and bool.
/// Complex and string dtypes throw kUnsupported: operators that take them say so themselves first.
template <class F>
decltype(auto) visit_numeric(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat64: return f(double{});
    case DType::kFloat16: return f(Half{});
    case DType::kBFloat16: return f(BFloat16{});
    case DType::kUint8: return f(uint8_t{});
    case DType::kInt8: return f(int8_t{});
    case DType::kUint16: return f(uint16_t{});
    case DType::kInt16: return f(int16_t{});
    case DType::kUint32: return f(uint32_t{});
    case DType::kInt32: return f(int32_t{});
    case DType::kUint64: return f(uint64_t{});
    case DType::kInt64: return f(int64_t{});
    case DType::kBool: return f(bool{});
    case DType::kUint4: return f(SmallInt<4, false>{});
    case DType::kInt4: return f(SmallInt<4, true>{});
    case DType::kUint2: return f(SmallInt<2, false>{});
    case DType::kInt2: return f(SmallInt<2, true>{});
    case DType::kFloat8E4M3FN: return f(SmallFloat<DType::kFloat8E4M3FN>{});
    case DType::kFloat8E4M3FNUZ: return f(SmallFloat<DType::kFloat8E4M3FNUZ>{});
    case DType::kFloat8E5M2: return f(SmallFloat<DType::kFloat8E5M2>{});
    case DType::kFloat8E5M2FNUZ: return f(SmallFloat<DType::kFloat8E5M2FNUZ>{});
    case DType::kFloat4E2M1: return f(SmallFloat<DType::kFloat4E2M1>{});
    case DType::kFloat6E2M3: return f(SmallFloat<DType::kFloat6E2M3>{});
    case DType::kFloat6E3M2: return f(SmallFloat<DType::kFloat6E3M2>{});
    case DType::kFloat8E8M0: return f(SmallFloat<DType::kFloat8E8M0>{});
    default: break;
  }
  throw Error(ErrorKind::kUnsupported,
              "expected a numeric element type, found " + std::string(dtype_name(dtype)));
}

/// Calls f(T{}) with T an unsigned integer of the element's width (or std::string, or a 16-byte struct): for
/// operators that move elements and never look at them.
struct Bytes16 {
  uint64_t low, high;
};
template <class F>
decltype(auto) visit_storage(DType dtype, F&& f) {
  if (dtype == DType::kString) return f(std::string{});
  switch (dtype_size(dtype)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}

}  // namespace wootz
