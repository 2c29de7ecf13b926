// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Loop states that the body hands on as they came (weights, mostly): body and graph read the initial value
/// instead, which may be a constant.
Pass hoist_loop_states();

}  // namespace wootz
