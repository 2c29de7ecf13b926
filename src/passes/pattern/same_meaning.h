// SPDX-License-Identifier: Apache-2.0
// A rewrite proves itself where it can: what it makes of scalars is computed both ways.
#pragma once
#include <string>

#include "ir/graph.h"

namespace wootz {

/// Computes `old` and `made` at 64 numbers for each value that both come from, in double, by the operators'
/// references, and says at which they differ; empty where they agree. Also empty where this cannot be told:
/// nodes that are not pointwise, constants of several numbers that only one side reads, values of other types
/// than float32 and bool. Points at which either is not finite are left out. The bound, 1e-5 of the largest
/// result, leaves room for constants rounded to float32.
std::string difference_in_meaning(const Value& old, const Value& made);

}  // namespace wootz
