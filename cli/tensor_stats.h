// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include <wootz/tensor.h>

namespace wootz::cli {

inline constexpr size_t kHistogramBins = 16;

/// What the numbers of a tensor are like. Of the finite ones, in double: least, largest, mean, standard
/// deviation, and how many lie in each sixteenth of the range from least to largest (all in the first where
/// those are equal).
struct TensorStats {
  int64_t finite = 0, nans = 0, infinities = 0, zeros = 0;
  double least = 0, largest = 0, mean = 0, deviation = 0;
  std::array<int64_t, kHistogramBins> histogram{};
};

/// False for strings and complex numbers, which have no such numbers.
bool has_stats(DType dtype);
TensorStats stats_of(const Tensor& tensor);

}  // namespace wootz::cli
