// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// com.microsoft GroupQueryAttention becomes rotary embeddings, a cache that the new keys and values are
/// scattered into, and wootz.Attention with a mask of positions. It stays where it has a soft cap, or a total
/// length that is no expression over the inputs' sizes.
Pass lower_group_query();

}  // namespace wootz
