// SPDX-License-Identifier: Apache-2.0
// Whether a float32 constant survives in a 16-bit type.
#pragma once
#include <memory>
#include <string>

#include "ir/tensor.h"

namespace wootz {

double largest_finite(DType dtype);
/// float16 loses precision below it; bfloat16 reaches as far down as float32.
double smallest_normal(DType dtype);

/// What happens to the elements of a constant that is rounded to `type`.
struct ConstantFit {
  int64_t elements = 0;
  int64_t overflowing = 0;    // finite, but beyond the type's range
  int64_t flushed = 0;        // not zero, but become zero
  double relative_error = 0;  // root of the mean square, over that of the constant; without overflowing ones

  /// Why the constant must stay float32; empty when it need not. Overflow is judged by the caller.
  std::string refusal() const;
};
ConstantFit fit_constant(const Tensor& constant, DType type);

/// The constant in `type`; finite elements beyond +-`limit` become +-`limit`.
Tensor convert_constant(const Tensor& constant, DType type, double limit);

}  // namespace wootz
