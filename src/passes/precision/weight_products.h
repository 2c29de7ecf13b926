// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// A product of float32 rows (on GPUs of 16-bit ones, too) with dequantized constant weights keeps these in
/// their few bits (wootz.MatMulDequantized): a scale for the tensor, an output channel, or a block along k of
/// a channel. Where many rows are known the weights become float32 as all constants do.
Pass weight_products();

}  // namespace wootz
