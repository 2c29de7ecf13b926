// SPDX-License-Identifier: Apache-2.0
// What kernels are checked on.
#pragma once
#include <string_view>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// kRandom: between -1 and 1. kLarge: magnitude 1000; 32 where the region holds attention, whose scores are
/// products of inputs. kTiny: from 1e-12 down to the smallest numbers above 0. kSparse: seven of eight are 0.
/// kNonFinite: some NaN and infinities.
enum class InputKind : uint8_t { kRandom, kLarge, kTiny, kSparse, kNonFinite };
std::string_view input_kind_name(InputKind kind);

/// Row-major inputs for a problem: constants as they are, floats by kind, wide integers from 0 to
/// `most_integer` (they may be indices), 8-bit integers over their whole range. Deterministic in the seed.
std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer = 1);

/// How far the scores of an attention in the region may be off in float32 on inputs of that kind, in the
/// worst of them: the softmax turns it into a relative error. 0 without attention.
double score_error(const Problem& problem, InputKind kind);

}  // namespace wootz
