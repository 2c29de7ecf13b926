// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <algorithm>

namespace wootz {

bool Type::has_static_shape() const {
  return has_rank() &&
         std::all_of(shape->begin(), shape->end(), [](const Dim& d) { return d.is_constant(); });
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape != b.shape) return false;
  if (!a.element || !b.element) return a.element == b.element;
  return *a.element == *b.element;
}

std::string to_string(const Type& type, const SymbolTable& symbols) {
  const auto tensor_text = [&] {
    std::string text(dtype_name(type.dtype));
    text += '[';
    if (!type.shape) return text + "...]";
    for (size_t i = 0; i < type.shape->size(); ++i) {
      if (i) text += ',';
      text += symbols.to_string((*type.shape)[i]);
    }
    return text + ']';
  };
  const auto element_text = [&] {
    return type.element ? to_string(*type.element, symbols) : std::string("?");
  };
  switch (type.kind) {
    case Type::Kind::kUnknown: return "?";
    case Type::Kind::kTensor: return tensor_text();
    case Type::Kind::kSparseTensor: return "sparse(" + tensor_text() + ")";
    case Type::Kind::kSequence: return "seq(" + element_text() + ")";
    case Type::Kind::kOptional: return "optional(" + element_text() + ")";
    case Type::Kind::kMap: return "map(" + std::string(dtype_name(type.dtype)) + "," + element_text() + ")";
  }
  return "?";
}

}  // namespace wootz
