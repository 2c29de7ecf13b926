// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/depthwise_kernel_body.h"

namespace wootz {

extern const DepthwiseFunction depthwise_row_portable;
const DepthwiseFunction depthwise_row_portable = WOOTZ_SIMD::depthwise_row;

}  // namespace wootz
