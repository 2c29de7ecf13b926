// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <wootz/export.h>

namespace wootz {

/// Element types. The numbers are those of TensorProto.DataType (ONNX IR 14), so files need no table.
enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kDTypeCount = 29;

WOOTZ_API std::string_view dtype_name(DType dtype);
WOOTZ_API std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes of one element in memory. 2-, 4- and 6-bit elements take a byte each in memory (packed only in files
/// and in prepared weights), strings take sizeof(std::string).
WOOTZ_API size_t dtype_size(DType dtype);
/// Bits of one element in an ONNX file's raw_data; 0 for strings.
WOOTZ_API int dtype_file_bits(DType dtype);

WOOTZ_API bool is_float(DType dtype);    // every floating-point kind, float8, float6 and float4 included
WOOTZ_API bool is_integer(DType dtype);  // signed and unsigned, without bool
WOOTZ_API bool is_signed_integer(DType dtype);

}  // namespace wootz
