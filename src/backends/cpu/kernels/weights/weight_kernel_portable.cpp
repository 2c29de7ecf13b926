// SPDX-License-Identifier: Apache-2.0
// Any processor, and AVX2 by the compiler's vectors.
#include <algorithm>

#include "backends/cpu/kernels/weights/weight_panels.h"
#include "ir/element.h"

namespace wootz {

namespace {

template <WeightForm kForm>
float weight_at(const WeightArgs& g, int64_t p, int64_t c, int64_t pitch) {
  if constexpr (kForm == WeightForm::kNibble)
    return g.table[g.weights[(p / 8 * pitch + c) * 4 + p % 8 / 2] >> (p % 2 * 4) & 15];
  const uint8_t byte = g.weights[p * pitch + c];
  if constexpr (kForm == WeightForm::kByte) return static_cast<int8_t>(byte);
  if constexpr (kForm == WeightForm::kFloat8) return float_from_small(DType::kFloat8E4M3FN, byte) / 256;
  return float_from_small(DType::kFloat8E5M2, byte);
}

template <WeightForm kForm>
void weight_rows(const WeightArgs& g) {
  constexpr int64_t kWide = WeightPanels::kPanel;
  const int64_t pitch =
      (g.columns + WeightPanels::kVector - 1) / WeightPanels::kVector * WeightPanels::kVector;
  for (int64_t i = 0; i < g.m; ++i) {
    float total[kWide] = {};
    const float* a = g.a + i * g.lda;
    for (int64_t b = 0; b * g.block < g.k; ++b) {
      float sum[kWide] = {}, of_a = 0;
      for (int64_t p = b * g.block; p < std::min(g.k, (b + 1) * g.block); ++p) {
        of_a += a[p];
        for (int64_t c = 0; c < pitch; ++c) sum[c] += a[p] * weight_at<kForm>(g, p, c, pitch);
      }
      for (int64_t c = 0; c < pitch; ++c)
        total[c] += sum[c] * g.scales[b * pitch + c] + (g.offsets ? g.offsets[b * pitch + c] * of_a : 0);
    }
    std::copy_n(total, g.columns, g.c + i * g.ldc);
  }
}

}  // namespace

WeightKernel weight_kernel_portable(WeightForm form);
WeightKernel weight_kernel_portable(WeightForm form) {
  switch (form) {
    case WeightForm::kByte: return weight_rows<WeightForm::kByte>;
    case WeightForm::kNibble: return weight_rows<WeightForm::kNibble>;
    case WeightForm::kFloat8: return weight_rows<WeightForm::kFloat8>;
    case WeightForm::kFloat8E5: return weight_rows<WeightForm::kFloat8E5>;
  }
  return nullptr;
}

}  // namespace wootz
