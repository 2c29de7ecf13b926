// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/evaluate.h"

namespace wootz {

/// How alike two float tensors of equal shape are as a whole.
struct Similarity {
  double sqnr_db = 0;  // 10 log10(sum e^2 / sum (e - f)^2); infinite when they are equal
  double cosine = 0;   // of the angle between e and f
};
/// NaN where the data are no float tensors of one shape, or hold NaN.
Similarity similarity_of(const Datum& expected, const Datum& found);

}  // namespace wootz
