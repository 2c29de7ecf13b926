// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include <wootz/builder.h>

namespace wootz {

/// Milliseconds of a run of each context on the sample: the lower quartile of single runs in turn, 9 to 400
/// of each within some 60 ms. Other programs slow single runs, seldom most of them, and whom they slow is
/// chance.
std::vector<double> time_in_turn(const std::vector<Context*>& contexts, const NamedData& sample);

}  // namespace wootz
