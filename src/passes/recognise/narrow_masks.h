// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// A mask of wootz.Attention that is the same for every query gets one row.
Pass narrow_masks();

}  // namespace wootz
