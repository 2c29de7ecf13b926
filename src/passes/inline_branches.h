// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// An If whose condition is known gives way to the nodes of its branch.
Pass inline_branches();

}  // namespace wootz
