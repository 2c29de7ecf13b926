// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"

namespace wootz {

using Shape = std::vector<Dim>;

/// The type of a value: a tensor, or a sequence, optional or map of another type. An absent shape means that
/// not even the rank is known.
struct Type {
  enum class Kind : uint8_t { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap };
  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;      // tensor element; a map's key
  std::optional<Shape> shape;           // tensors only
  std::shared_ptr<const Type> element;  // sequence, optional, map

  static Type tensor(DType dtype) { return {Kind::kTensor, dtype, std::nullopt, nullptr}; }
  static Type tensor(DType dtype, Shape shape) { return {Kind::kTensor, dtype, std::move(shape), nullptr}; }
  static Type sequence(Type element) {
    return {Kind::kSequence, DType::kUndefined, std::nullopt,
            std::make_shared<const Type>(std::move(element))};
  }
  static Type optional(Type element) {
    return {Kind::kOptional, DType::kUndefined, std::nullopt,
            std::make_shared<const Type>(std::move(element))};
  }
  static Type map(DType key, Type element) {
    return {Kind::kMap, key, std::nullopt, std::make_shared<const Type>(std::move(element))};
  }

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool has_rank() const { return is_tensor() && shape.has_value(); }
  int64_t rank() const { return static_cast<int64_t>(shape->size()); }
  bool has_static_shape() const;
};

bool operator==(const Type& a, const Type& b);
/// e.g. `float32[batch,3,224,224]`, `int64[...]` (rank unknown), `seq(float32[...])`.
std::string to_string(const Type& type, const SymbolTable& symbols);

}  // namespace wootz
