// SPDX-License-Identifier: Apache-2.0
// Running totals along an axis, for CumSum and CumProd.
#pragma once
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {

struct RunningAttributes {
  int64_t exclusive = 0, reverse = 0;
  template <class V>
  void reflect(V& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

/// out[i] = total of in[..i] (without in[i] when exclusive), from the far end when reverse; floats accumulate
/// in double, integers wrap.
void evaluate_running(EvalContext& context, bool multiplies);
/// All but the evaluation.
OpDef running_op(const char* name, const char* doc);

}  // namespace wootz
