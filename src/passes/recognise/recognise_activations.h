// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// SiLU (ai.onnx Swish), HardSigmoid, HardSwish, Mish and GELU written out of small nodes become one node
/// each.
Pass recognise_activations();

}  // namespace wootz
