// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Operators that change nothing vanish and simpler spellings replace longer ones. Only rewrites that keep
/// every value (NaN, infinities and the sign of zero included) are made; Clip and Relu chains treat NaN as
/// the operators do.
Pass simplify_algebra();

}  // namespace wootz
