// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Gives every value of rank 3 to 5 the layout that makes the sum of kernel and conversion costs least, and
/// puts wootz.Relayout nodes where a value is read in another layout than it is written in.
Pass assign_layouts();

}  // namespace wootz
