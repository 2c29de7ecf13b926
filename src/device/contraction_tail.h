// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/region.h"

namespace wootz {

/// Puts `alpha * x + beta * C` in front of a tail of x, as Gemm has it. `c_input` is C's index among the
/// region's inputs, -1 without C; `c_dtype` its type.
void prepend_scaled_sum(ContractionView& view, float alpha, int c_input, DType c_dtype, float beta);

}  // namespace wootz
