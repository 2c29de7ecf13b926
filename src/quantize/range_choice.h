// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "quantize/histogram.h"

namespace wootz {

/// What a quantized activation can hold; includes 0.
struct ActivationRange {
  double low = 0, high = 0;
};

enum class RangeMethod : uint8_t { kMax, kPercentile, kEntropy, kMse };
/// Throws kInvalidArgument for another name.
RangeMethod range_method(std::string_view name);

/// kMax: all that was seen. kPercentile: that share of the elements. kEntropy: the clipping with the least
/// Kullback-Leibler divergence between the distribution and its 8-bit form. kMse: the one with the least
/// expected square error. `is_signed`: int8 around 0, uint8 otherwise.
ActivationRange choose_range(const Histogram& h, RangeMethod method, double percentile, bool is_signed);

struct QuantParameters {
  float scale = 1;
  int zero = 0;
  DType type = DType::kUint8;
};
QuantParameters parameters_of(const ActivationRange& range, bool is_signed);

}  // namespace wootz
