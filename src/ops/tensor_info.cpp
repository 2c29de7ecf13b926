// SPDX-License-Identifier: Apache-2.0
#include "ops/tensor_info.h"

namespace wootz {

TensorInfo tensor_info(const Value& value) {
  TensorInfo info{value.name, value.type.dtype, value.type.has_rank(), {}, {}};
  if (!info.has_shape) return info;
  const SymbolTable& symbols = value.graph()->symbols();
  for (const Dim& d : *value.type.shape) {
    const Dim dim = symbols.resolve(d);
    info.dims.push_back(symbols.to_string(dim));
    info.fixed.push_back(dim.is_constant() ? std::optional(dim.value()) : std::nullopt);
  }
  return info;
}

}  // namespace wootz
