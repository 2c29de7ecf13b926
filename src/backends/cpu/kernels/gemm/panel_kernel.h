// SPDX-License-Identifier: Apache-2.0
// The register kernel that every dense float32 product goes through: some rows times one packed panel of
// columns.
#pragma once
#include <cstdint>
#include <limits>

#include "backends/cpu/cpu_features.h"

namespace wootz {

/// C[m, n] = clamp(A[m, k] * B[k, n] + bias[n] + addend[m, n]). k runs over segments of consecutive elements.
struct PanelArgs {
  /// Element p of segment s of row i is a[i * lda + s * segment_stride + p], or with `rows` set
  /// rows[s * rows_pitch + i][rows_offset + p]: the taps of a convolution.
  const float* a = nullptr;
  int64_t lda = 0;
  int64_t segment_stride = 0;
  const float* const* rows = nullptr;
  int64_t rows_pitch = 0;
  int64_t rows_offset = 0;
  /// A row pointer that stands for a row of zeros (a tap outside of the image), or null: where all rows of a
  /// tile have it, the segment is left out.
  const float* zeros = nullptr;
  int64_t segments = 1;
  int64_t segment_length = 0;

  /// k rows of ldb floats; whole vectors are read, so ldb covers n rounded up to the vector width.
  const float* b = nullptr;
  int64_t ldb = 0;
  /// What lies behind these k rows of B is wanted next: it is fetched into the cache while this product runs.
  bool fetches_next = false;

  float* c = nullptr;
  int64_t ldc = 0;
  const float* bias = nullptr;    // n floats, or null
  const float* addend = nullptr;  // a residual, or C itself to continue a sum; or null
  int64_t ld_addend = 0;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  int64_t m = 0;
  int n = 0;  // 1..panel
};

struct PanelKernels {
  Isa isa;
  int width;      // floats in a vector
  int max_panel;  // most columns of a panel
  int max_rows;   // rows of a full register tile
  void (*product)(const PanelArgs& args);
  /// y[n] = bias + x[k] * B for one row: two chains of sums and prefetches far ahead, for weights that come
  /// from memory.
  void (*vector_product)(const PanelArgs& args);
};
/// The kernels of an instruction set that the machine has; Error(kDevice) otherwise.
const PanelKernels& panel_kernels(Isa isa);

}  // namespace wootz
