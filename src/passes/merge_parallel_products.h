// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Products of one value with constant matrices: one product with the matrices side by side, and a Split, for
/// targets whose launches are dear (GPUs). Biases are merged along.
Pass merge_parallel_products();

}  // namespace wootz
