// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

struct GemmAttributes {
  float alpha = 1, beta = 1;
  int64_t transA = 0, transB = 0;  // NOLINT: as ONNX spells them
  template <class V>
  void reflect(V& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("transA", transA);
    v("transB", transB);
  }
};

}  // namespace wootz
