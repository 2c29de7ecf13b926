// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "memory/placement.h"

namespace wootz {

/// The plan's peak as an expression in the graph's symbols: the bytes of the buffers that lie on one another
/// up to the peak, each without its rounding to 64 bytes. It holds at all shapes where no other buffers reach
/// higher. Empty where a size is not an expression.
std::string peak_formula(const Graph& graph, const ShapePlan& plan);

}  // namespace wootz
