// SPDX-License-Identifier: Apache-2.0
// Which keys a query may see by where both stand, as a term that attention adds to its scores.
#pragma once
#include <optional>

#include "passes/pattern/patch.h"

namespace wootz {

struct PositionMask {
  Dim queries, keys;
  /// int64: the position of query 0 among the keys, a scalar or [batch,1,1,1]. Query i stands i behind it.
  PatchOperand first;
  bool is_causal = false;           // no key behind the query's position
  int64_t left = -1, right = -1;    // keys at most so far before and behind it; -1: any
  std::optional<PatchOperand> end;  // [batch,1,1,1]: keys from there on are none
};

/// 0 .. count - 1 as int64 [count]; `count` must not depend on what only the run knows.
PatchOperand counting(Patch& patch, const Dim& count);
/// A number as an int64 scalar, symbolic where it is.
PatchOperand scalar(Patch& patch, const Dim& value);

/// A selection as a term: 0 where it holds, -infinity elsewhere.
PatchOperand selection_term(Patch& patch, PatchOperand selection, DType dtype);

/// bool [queries, keys] or [batch, 1, queries, keys]; nothing where every key may be seen.
std::optional<PatchOperand> visible_keys(Patch& patch, const PositionMask& mask);

}  // namespace wootz
