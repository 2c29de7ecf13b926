// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm/panel_kernel.h"

#include "base/error.h"

namespace wootz {

extern const PanelKernels panel_kernels_avx512;
extern const PanelKernels panel_kernels_avx2;
extern const PanelKernels panel_kernels_portable;

const PanelKernels& panel_kernels(Isa isa) {
  if (!isa_available(isa))
    throw Error(ErrorKind::kDevice,
                "this processor lacks the instruction set that the kernel was chosen for (" +
                    std::to_string(static_cast<int>(isa)) + "-bit vectors); it has " +
                    cpu_features().to_string());
  switch (isa) {
    case Isa::kAvx512: return panel_kernels_avx512;
    case Isa::kAvx2: return panel_kernels_avx2;
    default: return panel_kernels_portable;
  }
}

}  // namespace wootz
