// SPDX-License-Identifier: Apache-2.0
// Running totals along an axis, for CumSum and CumProd.
#pragma once
#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

struct RunningAttributes {
  int64_t exclusive = 0, reverse = 0;
  template <class V>
  void reflect(V& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

void infer_running(InferContext& context);
/// out[i] = total of in[..i] (without in[i] when exclusive), from the far end when reverse; floats accumulate
/// in double, integers wrap.
void evaluate_running(EvalContext& context, bool multiplies);

}  // namespace wootz
