// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "import/onnx/model.h"
#include "import/onnx/tensor_data.h"
#include "import/onnx/types.h"
#include "ir/attribute.h"

namespace wootz::onnx {

std::string_view attribute_kind_name(AttributeKind kind);

/// The value of an attribute of any kind but graphs. Error(kInvalidModel) where the value is missing or
/// damaged.
Attribute read_attribute_value(const AttributeView& view, TensorReader& tensors, TypeReader& types);

/// The value of a Constant node, from its one attribute.
Tensor read_constant(std::string_view attribute_name, const Attribute& value);

}  // namespace wootz::onnx
