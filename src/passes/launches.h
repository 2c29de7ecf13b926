// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/backend.h"

namespace wootz {

/// Whether a launch costs more than what merged operators lose to strided or gathered operands. A thread
/// pool's launches are cheaper.
inline bool has_dear_launches(const TargetTraits& target) { return target.launch_seconds > 1.5e-6; }

}  // namespace wootz
