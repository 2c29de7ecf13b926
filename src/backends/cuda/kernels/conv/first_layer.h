// SPDX-License-Identifier: Apache-2.0
// A convolution of a few channels as its kernels read it: from an input of any float type and layout, of
// which they make their own copy. Casts and layout conversions in front of the convolution belong to the
// region then.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

struct FirstLayer {
  Contraction c;  // its input's strides are those of the source
  TensorDesc source;
  size_t input = 0;  // of the region

  /// Why the region is something else, or nothing. Weights are constant, elements 16-bit floats.
  static std::optional<std::string> read(const Problem& problem, FirstLayer& layer);

  /// `Source` and `Element` for conversion kernels.
  std::string types() const;
};

}  // namespace wootz
