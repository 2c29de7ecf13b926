// SPDX-License-Identifier: Apache-2.0
#include "passes/sizes.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int64_t kGuess = 16;  // of a size that nothing bounds

}  // namespace

SizeModel::SizeModel(const SymbolTable& symbols, const PassContext& context)
    : symbols_(symbols), bindings_(symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto id = static_cast<SymbolId>(i);
    const Symbol& s = symbols.at(id);
    if (s.kind != Symbol::Kind::kInput && s.kind != Symbol::Kind::kUnknown) continue;
    int64_t guess = kGuess;
    if (s.kind == Symbol::Kind::kUnknown && s.upper < INT64_MAX) guess = s.upper;
    if (auto it = context.options.optimum.find(s.name); it != context.options.optimum.end())
      guess = it->second;
    bindings_.bind(id, std::clamp(guess, s.lower, s.upper));
  }
}

int64_t SizeModel::size_of(const Dim& dim) const {
  return std::max<int64_t>(bindings_.evaluate(symbols_.resolve(dim)).value_or(kGuess), 0);
}

std::optional<Dims> SizeModel::dims_of(const Value& value) const {
  if (!value.type.has_rank()) return std::nullopt;
  Dims dims;
  double elements = 1;
  for (const Dim& d : *value.type.shape) {
    dims.push_back(size_of(d));
    elements *= static_cast<double>(std::max<int64_t>(dims.back(), 1));
  }
  // Guesses for many dims multiply to sizes that cannot be.
  if (elements > 0x1p60) return std::nullopt;
  return dims;
}

double SizeModel::bytes_of(const Value& value) const {
  const std::optional<Dims> dims = dims_of(value);
  if (!dims) return 0;
  double bytes = static_cast<double>(dtype_size(value.type.dtype));
  for (int64_t d : *dims) bytes *= static_cast<double>(d);
  return bytes;
}

}  // namespace wootz
