// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "ir/tensor.h"

namespace wootz {

/// Copies dims-shaped elements of element_bytes between two strided host buffers (strides in elements). Runs
/// of neighbouring elements are copied as blocks. The buffers must not overlap.
void copy_strided(void* to, const Dims& to_strides, const void* from, const Dims& from_strides,
                  const Dims& dims, size_t element_bytes);

}  // namespace wootz
