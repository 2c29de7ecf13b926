// SPDX-License-Identifier: Apache-2.0
// Kernels that the caller brings with an operator (wootz/op.h), as tactics.
#pragma once
#include <span>

#include "device/tactic.h"

namespace wootz {

/// In the order of registration; host backends offer them before their own.
std::span<const Tactic* const> user_tactics();

}  // namespace wootz
