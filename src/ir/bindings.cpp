// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/dim.h"

namespace wootz {

std::optional<int64_t> Bindings::known(SymbolId id) const {
  if (auto it = values_.find(id); it != values_.end()) return it->second;
  if (auto it = computed_.find(id); it != computed_.end()) return it->second;
  return std::nullopt;
}

std::optional<int64_t> Bindings::affine(const Dim& d) const {
  int64_t sum = d.constant();
  for (const auto& [id, coefficient] : d.terms()) {
    const std::optional<int64_t> value = known(id);
    int64_t term = 0;
    if (!value || __builtin_mul_overflow(*value, coefficient, &term) ||
        __builtin_add_overflow(sum, term, &sum))
      return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> Bindings::derived(const Symbol& symbol) const {
  const std::optional<int64_t> a = affine(symbol.a), b = affine(symbol.b);
  if (!a || !b) return std::nullopt;
  switch (symbol.kind) {
    case Symbol::Kind::kFloorDiv: return *a / *b - (*a % *b < 0);
    case Symbol::Kind::kMin: return std::min(*a, *b);
    case Symbol::Kind::kMax: return std::max(*a, *b);
    case Symbol::Kind::kProduct:
      if (int64_t product = 0; !__builtin_mul_overflow(*a, *b, &product)) return product;
      break;
    case Symbol::Kind::kInput:
    case Symbol::Kind::kUnknown: break;
  }
  return std::nullopt;
}

bool Bindings::compute(SymbolId root) const {
  std::vector<SymbolId> stack = {root};  // explicit: definitions may be nested deeper than the call stack
  while (!stack.empty()) {
    const SymbolId id = stack.back();
    if (known(id)) {
      stack.pop_back();
      continue;
    }
    const auto replacement = table_->replaced_.find(id);
    const bool is_replaced = replacement != table_->replaced_.end();
    const Symbol& symbol = table_->at(id);
    const size_t depth = stack.size();
    const auto push_missing = [&](const Dim& d) {
      for (const auto& term : d.terms())
        if (!known(term.first)) stack.push_back(term.first);
    };
    if (is_replaced) {
      push_missing(replacement->second);
    } else {
      push_missing(symbol.a);
      push_missing(symbol.b);
    }
    if (stack.size() > depth) continue;
    const std::optional<int64_t> value = is_replaced ? affine(replacement->second) : derived(symbol);
    if (!value) return false;
    computed_[id] = *value;
  }
  return true;
}

std::optional<int64_t> Bindings::evaluate(const Dim& d) const {
  for (const auto& term : d.terms())
    if (!compute(term.first)) return std::nullopt;
  return affine(d);
}

}  // namespace wootz
