// SPDX-License-Identifier: Apache-2.0
// Vector loops over one contiguous row of float32: what reductions, softmax, norms and attention are made of.
#pragma once
#include <cstdint>

namespace wootz {

struct RowKernels {
  /// Sums in float32 lanes over short blocks, the blocks in double.
  double (*sum)(const float* x, int64_t count);
  double (*sum_abs)(const float* x, int64_t count);
  double (*sum_squares)(const float* x, int64_t count, float mean);  // of (x - mean)
  /// NaN anywhere gives NaN; -inf (inf) for an empty row.
  float (*max)(const float* x, int64_t count);
  float (*min)(const float* x, int64_t count);
  /// out = exp((x - top)), returning the sum; out may be x, or null for the sum alone.
  double (*exp_sum)(const float* x, int64_t count, float top, float* out);
  /// out = (x - shift) * scale + offset; out may be x.
  void (*affine)(const float* x, int64_t count, float shift, float scale, float offset, float* out);
  /// out = (x - mean) * inverse * gamma + beta; gamma and beta are rows or null.
  void (*normalize)(const float* x, int64_t count, float mean, float inverse, const float* gamma,
                    const float* beta, float* out);
  float (*dot)(const float* a, const float* b, int64_t count);
  /// out += weight * x.
  void (*add_scaled)(const float* x, int64_t count, float weight, float* out);
  /// out = max(out, x), NaN wins; and the same for min.
  void (*max_into)(const float* x, int64_t count, float* out);
  void (*min_into)(const float* x, int64_t count, float* out);
};

/// Those of the chosen instruction set.
const RowKernels& row_kernels();

}  // namespace wootz
