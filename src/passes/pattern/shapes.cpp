// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/shapes.h"

#include <algorithm>

namespace wootz {

std::optional<PatchOperand> shape_operand(Patch& patch, const Shape& shape, const SymbolTable& symbols) {
  std::vector<Dim> dims;
  std::vector<int64_t> numbers;
  for (const Dim& d : shape) {
    dims.push_back(symbols.resolve(d));
    if (symbols.depends_on_unknown(dims.back())) return std::nullopt;
    if (dims.back().is_constant()) numbers.push_back(dims.back().value());
  }
  if (numbers.size() == dims.size()) return patch.constant(Tensor::int64s(numbers));
  return patch.symbolic(DType::kInt64, std::move(dims));
}

std::optional<PatchOperand> reshape(Patch& patch, PatchOperand x, const Shape& shape, const SymbolTable& symbols) {
  const std::optional<PatchOperand> sizes = shape_operand(patch, shape, symbols);
  if (!sizes) return std::nullopt;
  // A size that is or may turn out 0 means 0, not "as in the input".
  Attributes attributes;
  attributes.set("allowzero", int64_t(1));
  return patch.node("Reshape", {x, *sizes}, attributes);
}

PatchOperand transpose(Patch& patch, PatchOperand x, Ints perm) {
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return patch.node("Transpose", {x}, attributes);
}

}  // namespace wootz
