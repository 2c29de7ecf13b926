// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

/// Softmax, LogSoftmax and Hardmax.
struct SoftmaxAttributes {
  int64_t axis = -1;
  /// 1: as before opset 13, over all the dims from `axis` on together. Set only where that differs from the
  /// last axis.
  int64_t flatten = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("flatten", flatten);
  }
};

}  // namespace wootz
