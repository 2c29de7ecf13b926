// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Turns float32 values into the 16-bit type that the options ask for wherever choose_types allows it. The
/// graph's inputs and outputs keep their types: casts stand at the borders.
Pass lower_precision();

/// Marks regions whose products may round their float32 operands to TF32 (attribute `tf32` = 1), where the
/// options ask for it. Runs after fusion.
Pass permit_tf32();

}  // namespace wootz
