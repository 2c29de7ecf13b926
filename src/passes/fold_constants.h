// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Nodes whose inputs are all constants become constants, computed by the operators' references.
Pass fold_constants();

}  // namespace wootz
