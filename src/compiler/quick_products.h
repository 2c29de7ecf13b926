// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ir/graph.h"

namespace wootz {

/// Conv, MatMul, Gemm and Einsums of two operands, of floating-point types up to 32 bits, in float32 on all
/// threads of the pool: plain tiles held in registers, nothing that a kernel of a backend shares. False where
/// the node is another or so small that its reference is quick enough.
bool quick_product(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs,
                   ThreadPool& pool);

}  // namespace wootz
