// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Computes a large float32 Conv, MatMul or Gemm by plain loops over im2col and row blocks; false for
/// anything else or anything small. Independent of the backends' kernels.
bool quick_product(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs);

}  // namespace wootz
