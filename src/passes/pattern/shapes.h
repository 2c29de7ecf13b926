// SPDX-License-Identifier: Apache-2.0
// Shape operands of new nodes.
#pragma once
#include <optional>

#include "passes/pattern/patch.h"

namespace wootz {

/// The sizes as an int64 operand, constant or symbolic; nothing where only the run knows one.
std::optional<PatchOperand> shape_operand(Patch& patch, const Shape& shape, const SymbolTable& symbols);

/// A Reshape of `x` to exactly `shape`; nothing where only the run knows a size.
std::optional<PatchOperand> reshape(Patch& patch, PatchOperand x, const Shape& shape,
                                    const SymbolTable& symbols);

/// Where the dims of `to` come from when it is `from` with axes of size 1 added or dropped: an axis of
/// `from`, or -1 for an added one. Nothing when the shapes differ in more.
std::optional<std::vector<int>> unit_axes_map(const Value& from, const Value& to);

/// A Transpose of `x`.
PatchOperand transpose(Patch& patch, PatchOperand x, Ints perm);

}  // namespace wootz
