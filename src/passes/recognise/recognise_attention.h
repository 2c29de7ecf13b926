// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// softmax(Q K^T * scale + mask) V in the exporters' spellings becomes wootz.Attention.
Pass recognise_attention();

}  // namespace wootz
