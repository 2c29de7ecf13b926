// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm/panel_kernel_body.h"

namespace wootz {

extern const PanelKernels panel_kernels_avx2;
const PanelKernels panel_kernels_avx2 = {
    Isa::kAvx2,
    WOOTZ_SIMD::kWidth,
    WOOTZ_SIMD::kPanelVectors* WOOTZ_SIMD::kWidth,
    WOOTZ_SIMD::tile_rows(WOOTZ_SIMD::kPanelVectors),
    WOOTZ_SIMD::panel_product,
    WOOTZ_SIMD::vector_product,
};

}  // namespace wootz
