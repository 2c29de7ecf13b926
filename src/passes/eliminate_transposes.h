// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Transposes merge, cancel across pointwise operators, and become reshapes where they move axes of size 1
/// only.
Pass eliminate_transposes();

}  // namespace wootz
