// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm/packed_panels.h"

#include <algorithm>
#include <cstring>

namespace wootz {

int choose_panel(const PanelKernels& kernels, int64_t n) {
  const int most = kernels.max_panel / kernels.width;
  const int64_t vectors = std::max<int64_t>(1, (n + kernels.width - 1) / kernels.width);
  if (vectors <= most) return static_cast<int>(vectors) * kernels.width;
  if (most == 4 && vectors % 4 != 0 && vectors % 3 == 0) return 3 * kernels.width;
  return most * kernels.width;
}

namespace {

/// One panel whose source columns are far apart but whose rows are adjacent (a transposed matrix): small
/// squares keep both sides in cache lines that are already there.
void pack_transposed(float* to, int64_t pitch, int64_t count, int columns, const float* source,
                     int64_t column_stride, float scale) {
  constexpr int64_t kSquare = 16;
  for (int64_t p0 = 0; p0 < count; p0 += kSquare) {
    const int64_t p1 = std::min(count, p0 + kSquare);
    for (int64_t j0 = 0; j0 < columns; j0 += kSquare) {
      const int64_t j1 = std::min<int64_t>(columns, j0 + kSquare);
      for (int64_t j = j0; j < j1; ++j) {
        const float* from = source + j * column_stride;
        for (int64_t p = p0; p < p1; ++p) to[p * pitch + j] = from[p] * scale;
      }
    }
  }
  for (int64_t p = 0; p < count; ++p) std::fill(to + p * pitch + columns, to + (p + 1) * pitch, 0.0f);
}

}  // namespace

void pack_rows(const PackedPanels& shape, float* out, int64_t p0, int64_t p1, int64_t k0, int64_t count,
               const float* source, int64_t row_stride, int64_t column_stride, float scale) {
  for (int64_t panel = p0; panel < p1; ++panel) {
    const int64_t pitch = shape.pitch(panel);
    const int columns = shape.columns(panel);
    float* to = out + panel * shape.panel * shape.k + k0 * pitch;
    const float* from = source + panel * shape.panel * column_stride;
    if (row_stride == 1 && column_stride != 1) {
      pack_transposed(to, pitch, count, columns, from, column_stride, scale);
      continue;
    }
    for (int64_t p = 0; p < count; ++p, to += pitch, from += row_stride) {
      if (column_stride == 1 && scale == 1.0f)
        std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(float));
      else
        for (int j = 0; j < columns; ++j) to[j] = from[j * column_stride] * scale;
      std::fill(to + columns, to + pitch, 0.0f);
    }
  }
}

void pack_rows(const PackedPanels& shape, float* out, int64_t k0, int64_t count, const float* source,
               int64_t row_stride, int64_t column_stride, float scale) {
  pack_rows(shape, out, 0, shape.panels(), k0, count, source, row_stride, column_stride, scale);
}

}  // namespace wootz
