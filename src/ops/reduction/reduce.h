// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

/// All Reduce operators: input 1, if present, holds the axes.
struct ReduceAttributes {
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
  template <class V>
  void reflect(V& v) {
    v("keepdims", keepdims);
    v("noop_with_empty_axes", noop_with_empty_axes);
  }
};

}  // namespace wootz
