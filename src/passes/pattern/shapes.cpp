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

std::optional<PatchOperand> reshape(Patch& patch, PatchOperand x, const Shape& shape,
                                    const SymbolTable& symbols) {
  const std::optional<PatchOperand> sizes = shape_operand(patch, shape, symbols);
  if (!sizes) return std::nullopt;
  // A size that is or may turn out 0 means 0, not "as in the input".
  Attributes attributes;
  attributes.set("allowzero", int64_t(1));
  return patch.node("Reshape", {x, *sizes}, attributes);
}

std::optional<std::vector<int>> unit_axes_map(const Value& from, const Value& to) {
  if (!from.type.has_rank() || !to.type.has_rank()) return std::nullopt;
  const SymbolTable& symbols = from.graph()->symbols();
  const Shape &a = *from.type.shape, &b = *to.type.shape;
  std::vector<int> map;
  size_t i = 0;
  for (const Dim& d : b) {
    while (i < a.size() && !symbols.equal(a[i], d) && symbols.resolve(a[i]).is(1)) ++i;
    if (i < a.size() && symbols.equal(a[i], d))
      map.push_back(static_cast<int>(i++));
    else if (symbols.resolve(d).is(1))
      map.push_back(-1);
    else
      return std::nullopt;
  }
  for (; i < a.size(); ++i)
    if (!symbols.resolve(a[i]).is(1)) return std::nullopt;
  return map;
}

PatchOperand transpose(Patch& patch, PatchOperand x, Ints perm) {
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return patch.node("Transpose", {x}, attributes);
}

}  // namespace wootz
