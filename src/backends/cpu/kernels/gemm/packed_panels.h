// SPDX-License-Identifier: Apache-2.0
// The right-hand matrix of a product, cut into panels of columns that a register kernel reads from front to
// back.
#pragma once
#include <cstdint>

#include "backends/cpu/kernels/gemm/panel_kernel.h"

namespace wootz {

/// K rows and N columns in panels of `panel` columns, each panel K rows one after the other. The last panel
/// is as wide as its columns rounded up to whole vectors, padded with zeros.
struct PackedPanels {
  const float* data = nullptr;
  int64_t k = 0, n = 0;
  int panel = 0;  // columns, a multiple of width
  int width = 0;  // of a vector

  int64_t panels() const { return (n + panel - 1) / panel; }
  int columns(int64_t p) const { return static_cast<int>(n - p * panel < panel ? n - p * panel : panel); }
  int64_t pitch(int64_t p) const { return (columns(p) + width - 1) / width * width; }
  const float* at(int64_t p) const { return data + p * panel * k; }
  /// Floats of the whole packed matrix.
  int64_t floats() const { return n == 0 ? 0 : (panels() - 1) * panel * k + pitch(panels() - 1) * k; }
};

/// The panel width for N columns: as few vectors as possible, spread evenly.
int choose_panel(const PanelKernels& kernels, int64_t n);

/// Writes rows k0 .. k0 + count of the packed matrix at `out` (shape and panel from `shape`): element (k0 +
/// p, j) is source[p * row_stride + j * column_stride] * scale. Padding columns become zero.
void pack_rows(const PackedPanels& shape, float* out, int64_t k0, int64_t count, const float* source,
               int64_t row_stride, int64_t column_stride, float scale = 1.0f);
/// The same for the panels p0 .. p1 alone.
void pack_rows(const PackedPanels& shape, float* out, int64_t p0, int64_t p1, int64_t k0, int64_t count,
               const float* source, int64_t row_stride, int64_t column_stride, float scale);

}  // namespace wootz
