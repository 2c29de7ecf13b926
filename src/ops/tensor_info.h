// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <wootz/engine.h>
#include "ir/graph.h"

namespace wootz {

/// A value as the public interface shows it: dimensions as numbers or text.
TensorInfo tensor_info(const Value& value);

}  // namespace wootz
