// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "ops/window.h"

namespace wootz {

struct ConvTransposeAttributes : WindowAttributes {
  int64_t group = 1;
  Ints output_padding, output_shape;
  template <class V>
  void reflect(V& v) {
    WindowAttributes::reflect(v);
    v("group", group);
    v("output_padding", output_padding);
    v("output_shape", output_shape);
  }
};

/// The window of a ConvTranspose with data dims [N, C, spatial...] and weight dims [C, M/group, kernel...]:
/// input position i adds to output positions i * strides[a] - pads_begin[a] + t * dilations[a].
Window conv_transpose_window(const ConvTransposeAttributes& attributes, std::span<const int64_t> x,
                             std::span<const int64_t> w);

}  // namespace wootz
