// SPDX-License-Identifier: Apache-2.0
#include "ir/dtype.h"

#include <array>
#include <string>

namespace wootz {
namespace {

struct Row {
  std::string_view name;
  uint8_t size;
  uint8_t file_bits;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
    {"undefined", 0, 0},      {"float32", 4, 32},   {"uint8", 1, 8},
    {"int8", 1, 8},           {"uint16", 2, 16},    {"int16", 2, 16},
    {"int32", 4, 32},         {"int64", 8, 64},     {"string", sizeof(std::string), 0},
    {"bool", 1, 8},           {"float16", 2, 16},   {"float64", 8, 64},
    {"uint32", 4, 32},        {"uint64", 8, 64},    {"complex64", 8, 64},
    {"complex128", 16, 128},  {"bfloat16", 2, 16},  {"float8e4m3fn", 1, 8},
    {"float8e4m3fnuz", 1, 8}, {"float8e5m2", 1, 8}, {"float8e5m2fnuz", 1, 8},
    {"uint4", 1, 4},          {"int4", 1, 4},       {"float4e2m1", 1, 4},
    {"float8e8m0", 1, 8},     {"uint2", 1, 2},      {"int2", 1, 2},
    {"float6e2m3", 1, 6},     {"float6e3m2", 1, 6},
}};

const Row& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

size_t dtype_size(DType dtype) { return row(dtype).size; }
int dtype_file_bits(DType dtype) { return row(dtype).file_bits; }

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kFloat64:
    case DType::kBFloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat4E2M1:
    case DType::kFloat6E2M3:
    case DType::kFloat6E3M2:
    case DType::kFloat8E8M0: return true;
    default: return false;
  }
}

bool is_signed_integer(DType dtype) {
  switch (dtype) {
    case DType::kInt2:
    case DType::kInt4:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return true;
    default: return false;
  }
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kUint2:
    case DType::kUint4:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64: return true;
    default: return is_signed_integer(dtype);
  }
}

}  // namespace wootz
