// SPDX-License-Identifier: Apache-2.0
// What host types are called in kernel sources (kernels/base/types.cuh).
#pragma once
#include <optional>
#include <string_view>

#include <wootz/dtype.h>

namespace wootz {

/// "float", "float16", "int64_t"; nothing for types without arithmetic on the device (strings, float8, ...).
inline std::optional<std::string_view> cuda_type_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
    case DType::kFloat16: return "float16";
    case DType::kBFloat16: return "bfloat16";
    case DType::kInt8: return "int8_t";
    case DType::kUint8: return "uint8_t";
    case DType::kInt16: return "int16_t";
    case DType::kUint16: return "uint16_t";
    case DType::kInt32: return "int32_t";
    case DType::kUint32: return "uint32_t";
    case DType::kInt64: return "int64_t";
    case DType::kUint64: return "uint64_t";
    case DType::kBool: return "bool";
    default: return std::nullopt;
  }
}

}  // namespace wootz
