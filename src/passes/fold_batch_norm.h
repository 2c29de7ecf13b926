// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Batch normalisation becomes a factor and a term per channel; these, and other constant factors and terms
/// per channel, are folded into the weights and bias of the Conv, ConvTranspose, Gemm or MatMul before them.
Pass fold_batch_norm();

}  // namespace wootz
