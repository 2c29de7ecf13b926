// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/tactic.h"

namespace wootz {

/// Drops the tensor's lines from all caches: inside a network the weights of a layer come from memory, and a
/// race with warm weights picks other winners.
void evict(const Tensor& tensor);
void evict(const Packed& packed);

}  // namespace wootz
