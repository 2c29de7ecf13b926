// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "ops/window.h"

namespace wootz {

struct ConvAttributes : WindowAttributes {
  int64_t group = 1;
  template <class V>
  void reflect(V& v) {
    WindowAttributes::reflect(v);
    v("group", group);
  }
};

/// The window of a Conv with data dims [N, C, spatial...] and weight dims [M, C/group, kernel...].
/// kInvalidModel where the two do not fit together.
Window conv_window(const ConvAttributes& attributes, std::span<const int64_t> x, std::span<const int64_t> w);

/// y[N, M, output...] of x [N, C, input...], w [M, C/group, kernel...] and bias [M] (null: none).
std::vector<double> convolve(const Window& window, int64_t group, std::span<const double> x,
                             std::span<const int64_t> x_dims, std::span<const double> w,
                             std::span<const int64_t> w_dims, const double* bias);

class InferContext;
/// The output shape of a Conv-like node whose data and weights are inputs x and w.
Shape infer_conv_shape(InferContext& c, size_t x, size_t w);

}  // namespace wootz
