// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Rolls (two slices put together the other way round) and the reshapes and transposes around them that only
/// move whole rows within a batch: one Gather of rows, for targets whose launches are dear (GPUs).
Pass merge_rolls();

}  // namespace wootz
