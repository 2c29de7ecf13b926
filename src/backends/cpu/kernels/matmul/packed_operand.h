// SPDX-License-Identifier: Apache-2.0
// The constant B of a matrix product in packed form.
#pragma once
#include "backends/cpu/kernels/gemm/packed_panels.h"
#include "backends/cpu/kernels/matmul/product_problem.h"

namespace wootz {

/// Why B cannot be packed ahead (not constant, batched, uneven rows), or nothing.
std::optional<std::string> packed_operand_refusal(const Problem& problem, const ProductProblem& product);
/// B in panels, multiplied by Gemm's alpha.
Tensor pack_operand(const PanelKernels& kernels, const Problem& problem);
/// What pack_operand made, as panels.
PackedPanels packed_operand(const PanelKernels& kernels, const ProductProblem& product, const Tensor& packed);

}  // namespace wootz
