// SPDX-License-Identifier: Apache-2.0
// Names, definitions and replacements of symbols. Arithmetic is in dim_arithmetic.cpp, facts in
// dim_facts.cpp.
#include <algorithm>
#include <numeric>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "ir/dim.h"

namespace wootz {

Dim SymbolTable::input(std::string_view name) {
  if (auto it = inputs_by_name_.find(name); it != inputs_by_name_.end())
    return resolve(Dim::symbol(it->second));
  Symbol symbol;
  symbol.name = std::string(name);
  return Dim::symbol(add(std::move(symbol)));
}

Dim SymbolTable::unknown(std::string_view hint, std::optional<int64_t> upper) {
  std::string name(hint);
  for (int i = 1; unknowns_by_name_.contains(name); ++i) name = std::string(hint) + "_" + std::to_string(i);
  return unknown_of_name(std::move(name), upper);
}

Dim SymbolTable::unknown_of_name(std::string name, std::optional<int64_t> upper) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::kUnknown;
  symbol.name = std::move(name);
  symbol.upper = upper.value_or(INT64_MAX);
  return Dim::symbol(add(std::move(symbol)));
}

SymbolId SymbolTable::add(Symbol symbol) {
  const auto id = static_cast<SymbolId>(symbols_.size());
  for (const Dim* operand : {&symbol.a, &symbol.b})
    for (const auto& term : operand->terms())
      if (term.first < 0 || term.first >= id)
        throw Error(ErrorKind::kInvalidArgument, "symbol " + std::to_string(id) + " is defined by symbol " +
                                                     std::to_string(term.first) + ", expected an older one");
  const bool is_free = symbol.kind == Symbol::Kind::kInput || symbol.kind == Symbol::Kind::kUnknown;
  if (symbol.kind == Symbol::Kind::kFloorDiv && !(symbol.b.is_constant() && symbol.b.value() > 0))
    throw Error(ErrorKind::kInvalidArgument,
                "symbol " + std::to_string(id) + ": expected a division by a constant > 0");
  if (is_free)
    (symbol.kind == Symbol::Kind::kInput ? inputs_by_name_ : unknowns_by_name_).emplace(symbol.name, id);
  else
    by_definition_.emplace(Definition(symbol.kind, symbol.a, symbol.b), id);
  symbols_.push_back(std::move(symbol));
  if (!is_free) derive_facts(id);
  return id;
}

Dim SymbolTable::intern(Symbol::Kind kind, Dim a, Dim b) {
  if (auto it = by_definition_.find(Definition(kind, a, b)); it != by_definition_.end())
    return Dim::symbol(it->second);
  Symbol symbol;
  symbol.kind = kind;
  symbol.a = std::move(a);
  symbol.b = std::move(b);
  return Dim::symbol(add(std::move(symbol)));
}

Dim SymbolTable::resolve(const Dim& d) const {
  if (replaced_.empty()) return d;
  Dim out = d;
  for (bool changed = true; changed;) {
    changed = false;
    const Dim before = out;
    for (const auto& [id, coefficient] : before.terms()) {
      const auto it = replaced_.find(id);
      if (it == replaced_.end()) continue;
      out = out + (it->second - Dim::symbol(id)) * coefficient;
      changed = true;
    }
  }
  return out;
}

bool SymbolTable::any_mentioned(const Dim& d, const std::function<bool(SymbolId)>& is) const {
  std::set<SymbolId> seen;
  std::vector<SymbolId> pending;
  const auto push = [&](const Dim& expression) {
    for (const auto& term : expression.terms())
      if (seen.insert(term.first).second) pending.push_back(term.first);
  };
  push(d);
  while (!pending.empty()) {
    const SymbolId id = pending.back();
    pending.pop_back();
    if (is(id)) return true;
    if (auto it = replaced_.find(id); it != replaced_.end()) {
      push(it->second);
    } else {
      push(at(id).a);
      push(at(id).b);
    }
  }
  return false;
}

bool SymbolTable::depends_on_unknown(const Dim& d) const {
  return any_mentioned(resolve(d), [this](SymbolId id) { return is_unknown(id) && !replaced_.contains(id); });
}

bool SymbolTable::equate(const Dim& a, const Dim& b) {
  Dim zero = resolve(a) - resolve(b);
  if (zero.is_constant()) return zero.value() == 0;
  if (lower_bound(zero) > 0 || upper_bound(zero) < 0) return false;
  // -2^63 has no positive counterpart, so it is not divided.
  int64_t content = zero.constant() == INT64_MIN ? 1 : zero.constant();
  for (const auto& term : zero.terms())
    content = term.second == INT64_MIN ? 1 : std::gcd(content, term.second);
  const Dim terms = zero - Dim(zero.constant());
  if (zero.constant() % divisor(terms) != 0) return false;
  if (content > 1) {
    std::vector<std::pair<SymbolId, int64_t>> divided;
    for (const auto& [id, coefficient] : zero.terms()) divided.emplace_back(id, coefficient / content);
    zero = Dim(zero.constant() / content, std::move(divided));
  }
  for (const auto kind : {Symbol::Kind::kUnknown, Symbol::Kind::kInput}) {
    for (size_t i = zero.terms().size(); i-- > 0;) {
      const auto [id, coefficient] = zero.terms()[i];
      if (at(id).kind != kind || (coefficient != 1 && coefficient != -1)) continue;
      const Dim by = Dim::symbol(id) - zero * coefficient;
      if (any_mentioned(by, [id = id](SymbolId other) { return other == id; })) continue;
      replace(id, by);
      return true;
    }
  }
  const std::pair<Dim, Dim> equality(resolve(a), resolve(b));
  if (std::find(equalities_.begin(), equalities_.end(), equality) == equalities_.end())
    equalities_.push_back(equality);
  return true;
}

Dim SymbolTable::rebuilt(const Symbol& symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::kFloorDiv: return floor_div(symbol.a, symbol.b.value());
    case Symbol::Kind::kProduct: return multiply(symbol.a, symbol.b);
    case Symbol::Kind::kMin: return min(symbol.a, symbol.b);
    case Symbol::Kind::kMax: return max(symbol.a, symbol.b);
    default: break;
  }
  throw Error(ErrorKind::kInternal, "expected a derived symbol");
}

void SymbolTable::replace(SymbolId id, const Dim& by) {
  replaced_[id] = by;
  if (by.terms().size() == 1 && by.terms()[0].second == 1) {
    Symbol& heir = symbols_[static_cast<size_t>(by.terms()[0].first)];
    const Symbol& old = at(id);
    if (heir.kind == Symbol::Kind::kInput || heir.kind == Symbol::Kind::kUnknown) {
      heir.lower = std::max(heir.lower, old.lower - by.constant());
      if (old.upper != INT64_MAX) heir.upper = std::min(heir.upper, old.upper - by.constant());
      if (by.constant() == 0)
        heir.divisor =
            checked_mul(heir.divisor / std::gcd(heir.divisor, old.divisor), old.divisor, "divisor");
    }
  }
  // Operands are older than what they define, so one pass in order of age reaches everything.
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const auto derived = static_cast<SymbolId>(i);
    const Symbol symbol = symbols_[i];
    if (symbol.kind == Symbol::Kind::kInput || symbol.kind == Symbol::Kind::kUnknown ||
        replaced_.contains(derived))
      continue;
    if (resolve(symbol.a) == symbol.a && resolve(symbol.b) == symbol.b) {
      derive_facts(derived);
      continue;
    }
    Dim again = resolve(rebuilt(symbol));
    if (again != Dim::symbol(derived)) replaced_[derived] = std::move(again);
  }
  std::vector<std::pair<Dim, Dim>> open;
  open.swap(equalities_);
  for (const auto& [a, b] : open)
    if (!equate(a, b)) equalities_.emplace_back(a, b);  // fails when shapes are bound, with both sides shown
}

}  // namespace wootz
