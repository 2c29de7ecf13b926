// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

struct MatMulDequantizedAttributes {
  int64_t block = 0;  // elements along k that share a scale
  template <class V>
  void reflect(V& v) {
    v("block", block);
  }
};

}  // namespace wootz
