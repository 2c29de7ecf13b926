// SPDX-License-Identifier: Apache-2.0
#include "memory/peak_formula.h"

namespace wootz {

std::string peak_formula(const Graph& graph, const ShapePlan& plan) {
  SymbolTable symbols = graph.symbols();  // a copy: products become symbols of their own
  Dim peak = 0;
  for (const Value* v : plan.peak_chain) {
    if (!v->type.has_rank()) return "";
    const auto bytes = static_cast<int64_t>(dtype_size(v->type.dtype));
    peak = peak + symbols.product(*v->type.shape) * bytes;
  }
  return plan.peak_chain.empty() ? "" : symbols.to_string(symbols.resolve(peak));
}

}  // namespace wootz
