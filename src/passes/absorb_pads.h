// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// A Pad with zeros around the spatial axes goes into the padding of the Conv behind it.
Pass absorb_pads();

}  // namespace wootz
