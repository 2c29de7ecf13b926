// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Squeeze, Unsqueeze and Flatten become Reshape to a known shape; Reshape of Reshape is one; Reshape to the
/// same shape vanishes.
Pass eliminate_reshapes();

}  // namespace wootz
