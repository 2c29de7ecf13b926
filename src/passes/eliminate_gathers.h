// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// A GatherND by the running indices of every axis, as exporters write masks, is the data itself under
/// another shape.
Pass eliminate_gathers();

}  // namespace wootz
