// SPDX-License-Identifier: Apache-2.0
// Runs of float16 and bfloat16 to float32 and back, rounding to nearest even.
#pragma once
#include <cstdint>

#include "ir/dtype.h"

namespace wootz {

/// `dtype` is kFloat16 or kBFloat16.
void widen_run(DType dtype, const uint16_t* from, float* to, int64_t count) noexcept;
void narrow_run(DType dtype, const float* from, uint16_t* to, int64_t count) noexcept;

}  // namespace wootz
