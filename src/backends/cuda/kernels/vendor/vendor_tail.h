// SPDX-License-Identifier: Apache-2.0
// The tails that libraries know: activation(alpha * sum + beta * residual + bias).
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

enum class VendorActivation { kNone, kRelu, kGeluTanh };

struct VendorTail {
  float alpha = 1, beta = 1;
  int bias = -1;      // index of Contraction::operands: a vector over the columns, of the result's type
  int residual = -1;  // a matrix like the result, of its type, columns adjacent
  VendorActivation activation = VendorActivation::kNone;

  /// Reads a contraction's tail, whose result has the operands' type; or tells why it is another.
  static std::optional<std::string> read(const Contraction& contraction, VendorTail& tail);
};

}  // namespace wootz
