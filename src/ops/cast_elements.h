// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ir/tensor.h"

namespace wootz {

struct CastOptions {
  bool saturate = true;           // float8 targets: out of range becomes the largest finite number
  std::string round_mode = "up";  // float8e8m0 target: up, down or nearest
};

/// ONNX Cast: y, of the same dims, receives the elements of x converted to its dtype. All dtypes but complex
/// ones. What ONNX leaves undefined: integer_from_real of ops/scalar.h. Strings that are no numbers are
/// kInvalidModel.
void cast_elements(const Tensor& x, Tensor& y, const CastOptions& options);

}  // namespace wootz
