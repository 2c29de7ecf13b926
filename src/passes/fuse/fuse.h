// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Every node ends in exactly one region; the reason for each thing that was not fused goes into the log.
Pass fuse();

}  // namespace wootz
