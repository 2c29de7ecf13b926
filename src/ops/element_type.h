// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/dtype.h"

namespace wootz {

/// The element type that an attribute names by ONNX's number (TensorProto.DataType); kInvalidModel for a number
/// that names none.
DType element_type(int64_t number, const char* attribute);

}  // namespace wootz
