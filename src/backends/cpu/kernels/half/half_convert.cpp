// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/half/half_convert.h"

#include <bit>

#include "backends/cpu/cpu_features.h"
#include "ir/element.h"

namespace wootz {

void widen_half_avx2(const uint16_t* from, float* to, int64_t count);
void narrow_half_avx2(const float* from, uint16_t* to, int64_t count);

void widen_run(DType dtype, const uint16_t* from, float* to, int64_t count) noexcept {
  if (dtype == DType::kBFloat16) {
    for (int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
    return;
  }
  // Every processor with AVX2 converts float16 in hardware.
  const int64_t whole = cpu_features().avx2 ? count / 8 * 8 : 0;
  if (whole > 0) widen_half_avx2(from, to, whole);
  for (int64_t i = whole; i < count; ++i) to[i] = float_from_half(from[i]);
}

void narrow_run(DType dtype, const float* from, uint16_t* to, int64_t count) noexcept {
  if (dtype == DType::kBFloat16) {
    for (int64_t i = 0; i < count; ++i) to[i] = bfloat16_from_float(from[i]);
    return;
  }
  const int64_t whole = cpu_features().avx2 ? count / 8 * 8 : 0;
  if (whole > 0) narrow_half_avx2(from, to, whole);
  for (int64_t i = whole; i < count; ++i) to[i] = half_from_float(from[i]);
}

}  // namespace wootz
