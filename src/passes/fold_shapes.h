// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Integer values whose elements are known expressions over the inputs' sizes become constants or symbolic
/// constants, so that Shape, Gather, Concat and their like vanish.
Pass fold_shapes();

}  // namespace wootz
