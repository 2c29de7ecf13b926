// SPDX-License-Identifier: Apache-2.0
// Tensor maps over the images of a convolution, {C, W, H, N}.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/kernels/gemm/contraction.h"
#include "backends/cuda/tensor_map.h"

namespace wootz {

/// The input in boxes of rows x width pixels x channels. Loads that begin at negative positions bring the
/// zero padding.
TensorMapSpec image_map(const Contraction& contraction, int64_t rows, int64_t width, int64_t channels,
                        cuda::MapSwizzle swizzle = cuda::MapSwizzle::k128Bytes);
/// The result in such boxes; what lies beyond it is dropped.
TensorMapSpec result_image_map(const Problem& problem, const Contraction& contraction, int64_t rows,
                               int64_t width, int64_t channels);
/// The result of a pool behind the convolution, in boxes of one row.
TensorMapSpec pooled_image_map(const TensorDesc& pooled, const Contraction& contraction, int64_t channels);
/// Why result_image_map cannot describe the result; nothing when it can.
std::optional<std::string> result_image_refusal(const Problem& problem, const Contraction& contraction);

/// Element strides of a result of rank 3 or 4.
struct ResultStrides {
  int64_t n = 0, h = 0, w = 0;
};
ResultStrides result_strides(const Problem& problem, const Contraction& contraction);

}  // namespace wootz
