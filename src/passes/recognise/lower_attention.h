// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// ai.onnx Attention without a cache, a window or a soft cap becomes wootz.Attention, which kernels serve.
Pass lower_attention();

}  // namespace wootz
