// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Layer and RMS normalisation, and softmax, written out of small nodes become one node each.
Pass recognise_norms();

}  // namespace wootz
