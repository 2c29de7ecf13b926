// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

struct TargetTraits;

/// Whether the target's kernels multiply 8-bit floats: Hopper's.
bool multiplies_float8(const TargetTraits& target);

/// Convolutions and products of dequantized 8-bit values with dequantized 8-bit weights become exact integer
/// ones (ConvInteger, MatMulInteger), scaled afterwards; movements between a DequantizeLinear and a
/// QuantizeLinear of the same parameters move the integers. On GPUs only where their kernels of 8-bit
/// elements take it, and pools between two convolutions keep the largest byte. Runs before constants fold:
/// weights stay 8-bit.
Pass integer_products();

/// QuantizeLinear and DequantizeLinear with constant parameters become pointwise nodes, which join regions.
Pass expand_quantize();

}  // namespace wootz
