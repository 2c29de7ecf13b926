// SPDX-License-Identifier: Apache-2.0
// Sample problems for pointwise operators.
#pragma once
#include <vector>

#include "ops/dtype_set.h"
#include "ops/op.h"

namespace wootz {

/// Numbers spread over [low, high], the ends included, rounded to the dtype; the same each time. `seed`
/// varies the order.
Tensor spread_tensor(DType dtype, Dims dims, double low, double high, uint32_t seed = 1);
/// The given numbers.
Tensor number_tensor(DType dtype, Dims dims, std::vector<double> numbers);

/// One input with elements in [low, high] (0 instead of a negative bound where the dtype is unsigned): each
/// dtype, ranks 0 to 3, sizes 0 and 1; with `extremes`, infinities, NaN and negative zero too.
std::vector<Sample> unary_samples(DTypeSet dtypes, double low, double high, bool extremes = true,
                                  const Attributes& attributes = {});
struct SampleRange {
  double low, high;
};
/// Two inputs: each dtype, broadcasting both ways, rank 0, sizes 0 and 1.
std::vector<Sample> binary_samples(DTypeSet dtypes, SampleRange a, SampleRange b, bool extremes = true,
                                   const Attributes& attributes = {});

/// Any number of inputs: those of two, and one and three.
std::vector<Sample> variadic_samples(DTypeSet dtypes);

}  // namespace wootz
