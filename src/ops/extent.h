// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/tensor.h"

namespace wootz {

/// The length of an axis, for estimates: those of a damaged engine may ask for axes that are not there (1).
inline double extent(const Dims& dims, size_t axis) {
  return axis < dims.size() ? static_cast<double>(dims[axis]) : 1;
}

}  // namespace wootz
