// SPDX-License-Identifier: Apache-2.0
// What kernels are checked on.
#pragma once
#include <span>
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
/// Tensors of `spare` are written over where they fit.
std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer = 1,
                               std::vector<Datum> spare = {});

/// What turns random values of floating-point types into those of another kind, each by itself: inputs that
/// lie in another order than row-major need not be put there once more for every kind.
class KindChange {
 public:
  KindChange(const Problem& problem, InputKind kind);
  /// to[i] = the like of from[i]; `from` may be `to`.
  void operator()(DType dtype, const void* from, void* to, int64_t count) const;

 private:
  InputKind kind_;
  float large_;
};

/// The same inputs with each float a little off, as rounding might leave it: what changes in the result is
/// what no kernel can be blamed for.
std::vector<Datum> perturbed(const Problem& problem, std::span<const Datum> inputs, uint64_t seed);

}  // namespace wootz
