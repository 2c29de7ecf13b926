// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// A cast in front of a transpose moves behind it, for targets whose launches are dear (GPUs): it writes the
/// moved elements, and no copy follows.
Pass sink_casts();

}  // namespace wootz
