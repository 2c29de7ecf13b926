// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample_tensors.h"
#include "ops/sequence.h"

namespace wootz::sample {

/// Three tensors of 1, 2 and 3 elements.
inline Datum three_tensors(DType dtype = DType::kFloat32) {
  return sequence_of({counting(dtype, {1}), counting(dtype, {2}), counting(dtype, {3})}, dtype);
}
inline Datum no_tensors(DType dtype = DType::kFloat32) { return sequence_of({}, dtype); }

}  // namespace wootz::sample
