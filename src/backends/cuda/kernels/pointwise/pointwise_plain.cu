// SPDX-License-Identifier: Apache-2.0
// One thread an element of dense operands of one shape. Generated before this text: T0, T1, ... (types of the
// operands), OUT, OPERANDS (the parameters) and EXPRESSION over x0, x1, ... as floats.
#include "base/types.cuh"

extern "C" __global__ void pointwise_plain(OPERANDS, OUT* __restrict__ out, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = from_float<OUT>(EXPRESSION);
}
