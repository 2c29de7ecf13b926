// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Transposes of the leading axes move behind products along the last one, where they meet their inverses:
/// networks that were written sequence first work batch first. Reshapes in front of such transposes move
/// before norms over the last axis.
Pass sink_transposes();

}  // namespace wootz
