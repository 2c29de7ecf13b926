// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "ir/graph.h"
#include "passes/pass.h"

namespace wootz {

/// The sizes that costs are computed at: input symbols take the options' optimum, or a guess within their
/// bounds; sizes that only the run tells take their upper bound, or a guess.
class SizeModel {
 public:
  SizeModel(const SymbolTable& symbols, const PassContext& context);
  /// Nothing where the rank is unknown.
  std::optional<Dims> dims_of(const Value& value) const;
  /// 0 where unknown.
  double bytes_of(const Value& value) const;

 private:
  int64_t size_of(const Dim& dim) const;
  const SymbolTable& symbols_;
  Bindings bindings_;
};

}  // namespace wootz
