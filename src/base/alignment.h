// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace wootz {

/// The least multiple of `alignment` (at least 1) that is not below n.
constexpr size_t round_up(size_t n, size_t alignment) { return (n + alignment - 1) / alignment * alignment; }

}  // namespace wootz
