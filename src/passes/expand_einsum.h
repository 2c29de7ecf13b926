// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Einsum of two operands with one contracted index becomes transposes around a MatMul.
Pass expand_einsum();

}  // namespace wootz
