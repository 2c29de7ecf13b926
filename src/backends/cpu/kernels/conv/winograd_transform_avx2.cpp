// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/winograd_transform_body.h"

namespace wootz {

extern const WinogradTransforms winograd_transforms_avx2;
const WinogradTransforms winograd_transforms_avx2 = {
    WOOTZ_SIMD::winograd_input<2>,
    WOOTZ_SIMD::winograd_output<2>,
    WOOTZ_SIMD::winograd_input<4>,
    WOOTZ_SIMD::winograd_output<4>,
};

}  // namespace wootz
