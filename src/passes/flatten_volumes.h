// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Convolutions of three spatial axes with constant weights become convolutions of two: slices along the
/// depth are pictures, and the taps along it are channels.
Pass flatten_volumes();

}  // namespace wootz
