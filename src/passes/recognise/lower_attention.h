// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// ai.onnx Attention without a soft cap or its scores as an output becomes wootz.Attention, which kernels
/// serve. A cache is joined by Concat; windows, lengths of an outside cache and causal order behind a cache
/// become a mask.
Pass lower_attention();

}  // namespace wootz
