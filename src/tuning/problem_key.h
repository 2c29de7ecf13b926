// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "device/tactic.h"

namespace wootz {

/// A readable text that is equal for problems that cost the same: the body with its values numbered,
/// attributes, operand types, dims and strides, which operands are constants, and the thread count.
/// Constants' contents are left out.
std::string problem_key(const Problem& problem);

/// Equal for problems that a kernel computes by the same formula and the same kinds of loops: as problem_key,
/// with sizes told apart only by how they fill vectors, scalars by what may be treated in a way of its own.
std::string formula_key(const Problem& problem);

}  // namespace wootz
