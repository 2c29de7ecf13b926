// SPDX-License-Identifier: Apache-2.0
// Arithmetic that makes symbols: quotients, products, minima.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/error.h"
#include "ir/dim.h"

namespace wootz {
namespace {

int64_t floor_quotient(int64_t a, int64_t k) { return a / k - (a % k < 0); }

bool is_plain_symbol(const Dim& d) {
  return d.constant() == 0 && d.terms().size() == 1 && d.terms()[0].second == 1;
}

/// Larger products stay unexpanded, so that no model can make an expression explode.
constexpr size_t kMaxExpandedTerms = 64;

/// min(max(x, b), b) = b, max(max(x, b), b) = max(x, b) and their duals: whether `a` is such an inner
/// expression of `kind` over b.
bool absorbs(const SymbolTable& table, Symbol::Kind kind, const Dim& a, const Dim& b) {
  if (!is_plain_symbol(a)) return false;
  const Symbol& s = table.at(a.terms()[0].first);
  return s.kind == kind && (table.resolve(s.a) == b || table.resolve(s.b) == b);
}

}  // namespace

Dim SymbolTable::floor_div(const Dim& unresolved, int64_t k) {
  if (k <= 0)
    throw Error(ErrorKind::kInvalidModel,
                "division of a dimension: expected a divisor > 0, found " + std::to_string(k));
  const Dim a = resolve(unresolved);
  if (k == 1) return a;
  const bool is_bare = is_plain_symbol(a);
  Dim outside(floor_quotient(a.constant(), k));
  Dim rest(a.constant() - outside.value() * k);
  int64_t common = k;
  for (const auto& [id, c] : a.terms()) {
    const int64_t needed = k / std::gcd(c, k);  // what must divide the symbol for an exact quotient
    if (at(id).divisor % needed == 0 && (needed == 1 || !is_bare || is_monomial(id))) {
      outside = outside + divide_symbol(id, needed) * (c / (k / needed));
      continue;
    }
    const int64_t q = floor_quotient(c, k), r = c - q * k;
    outside = outside + Dim::symbol(id) * q;
    rest = rest + Dim::symbol(id) * r;
    common = std::gcd(common, r);
  }
  if (common > 1) {
    std::vector<std::pair<SymbolId, int64_t>> terms;
    for (const auto& [id, c] : rest.terms()) terms.emplace_back(id, c / common);
    rest = Dim(rest.constant() / common, std::move(terms));
    k /= common;
  }
  if (rest.is_constant() || k == 1) return outside + (k == 1 ? rest : Dim(0));
  // floor_div(floor_div(x, m) + c, k) = floor_div(x + c m, m k)
  if (const auto [id, c] = rest.terms()[0];
      rest.terms().size() == 1 && c == 1 && at(id).kind == Symbol::Kind::kFloorDiv) {
    const int64_t m = at(id).b.value();
    int64_t mk = 0;
    if (!__builtin_mul_overflow(m, k, &mk))
      return outside + floor_div(at(id).a + Dim(rest.constant()) * m, mk);
  }
  const int64_t lower = lower_bound(rest), upper = upper_bound(rest);
  if (lower != INT64_MIN && upper != INT64_MAX && floor_quotient(lower, k) == floor_quotient(upper, k))
    return outside + Dim(floor_quotient(lower, k));
  return outside + intern(Symbol::Kind::kFloorDiv, rest, k);
}

Dim SymbolTable::mod(const Dim& a, int64_t k) { return resolve(a) - floor_div(a, k) * k; }

/// symbol / k where k is known to divide it; of a product, the factors that hold k are divided.
Dim SymbolTable::divide_symbol(SymbolId id, int64_t k) {
  if (k == 1) return Dim::symbol(id);
  if (!is_monomial(id)) return floor_div(Dim::symbol(id), k);
  Dim quotient(1);
  for (SymbolId factor : factors(id)) {
    const int64_t part = std::gcd(at(factor).divisor, k);
    quotient = multiply(quotient, floor_div(Dim::symbol(factor), part));
    k /= part;
  }
  WOOTZ_ASSERT(k == 1);
  return quotient;
}

/// True for a product symbol that stands for a monomial: (older monomial or symbol) * symbol.
bool SymbolTable::is_monomial(SymbolId id) const {
  const Symbol& s = at(id);
  if (s.kind != Symbol::Kind::kProduct || !is_plain_symbol(s.a) || !is_plain_symbol(s.b)) return false;
  const Symbol& last = at(s.b.terms()[0].first);
  return last.kind != Symbol::Kind::kProduct || !(is_plain_symbol(last.a) && is_plain_symbol(last.b));
}

std::vector<SymbolId> SymbolTable::factors(SymbolId id) const {
  std::vector<SymbolId> out;
  while (is_monomial(id)) {
    out.push_back(at(id).b.terms()[0].first);
    id = at(id).a.terms()[0].first;
  }
  out.push_back(id);
  std::sort(out.begin(), out.end());
  return out;
}

Dim SymbolTable::monomial(std::vector<SymbolId> list) {
  if (list.empty()) return 1;
  std::sort(list.begin(), list.end());
  Dim out = Dim::symbol(list[0]);
  for (size_t i = 1; i < list.size(); ++i) out = intern(Symbol::Kind::kProduct, out, Dim::symbol(list[i]));
  return out;
}

Dim SymbolTable::multiply(const Dim& unresolved_a, const Dim& unresolved_b) {
  Dim a = resolve(unresolved_a), b = resolve(unresolved_b);
  if (a.is_constant()) return b * a.value();
  if (b.is_constant()) return a * b.value();
  size_t degree = 0;
  for (const Dim* side : {&a, &b}) {
    size_t largest = 0;
    for (const auto& term : side->terms()) largest = std::max(largest, factors(term.first).size());
    degree += largest;
  }
  if (b < a) std::swap(a, b);
  if ((a.terms().size() + 1) * (b.terms().size() + 1) > kMaxExpandedTerms || degree > kMaxExpandedTerms)
    return intern(Symbol::Kind::kProduct, a, b);
  Dim sum = (a - Dim(a.constant())) * b.constant() + (b - Dim(b.constant())) * a.constant() +
            Dim(checked_mul(a.constant(), b.constant(), "size of a dimension"));
  for (const auto& [ida, ca] : a.terms()) {
    for (const auto& [idb, cb] : b.terms()) {
      std::vector<SymbolId> list = factors(ida);
      for (SymbolId factor : factors(idb)) list.push_back(factor);
      sum = sum + monomial(std::move(list)) * checked_mul(ca, cb, "size of a dimension");
    }
  }
  return sum;
}

Dim SymbolTable::product(std::span<const Dim> dims) {
  Dim out = 1;
  for (const Dim& d : dims) out = multiply(out, d);
  return out;
}

Dim SymbolTable::min(const Dim& unresolved_a, const Dim& unresolved_b) {
  Dim a = resolve(unresolved_a), b = resolve(unresolved_b);
  if (absorbs(*this, Symbol::Kind::kMin, a, b)) return a;
  if (absorbs(*this, Symbol::Kind::kMin, b, a)) return b;
  if (absorbs(*this, Symbol::Kind::kMax, a, b)) return b;
  if (absorbs(*this, Symbol::Kind::kMax, b, a)) return a;
  if (upper_bound(a - b) <= 0) return a;
  if (lower_bound(a - b) >= 0) return b;
  if (b < a) std::swap(a, b);
  return intern(Symbol::Kind::kMin, a, b);
}

Dim SymbolTable::max(const Dim& unresolved_a, const Dim& unresolved_b) {
  Dim a = resolve(unresolved_a), b = resolve(unresolved_b);
  if (absorbs(*this, Symbol::Kind::kMax, a, b)) return a;
  if (absorbs(*this, Symbol::Kind::kMax, b, a)) return b;
  if (absorbs(*this, Symbol::Kind::kMin, a, b)) return b;
  if (absorbs(*this, Symbol::Kind::kMin, b, a)) return a;
  if (lower_bound(a - b) >= 0) return a;
  if (upper_bound(a - b) <= 0) return b;
  if (b < a) std::swap(a, b);
  return intern(Symbol::Kind::kMax, a, b);
}

std::optional<Dim> SymbolTable::divide_exact(const Dim& unresolved_a, const Dim& unresolved_b) {
  const Dim a = resolve(unresolved_a), b = resolve(unresolved_b);
  if (b.is(0)) return std::nullopt;
  int64_t content = b.constant();
  for (const auto& term : b.terms()) content = std::gcd(content, term.second);
  if (b.is_constant() ? b.value() < 0 : b.terms()[0].second < 0) content = -content;
  std::vector<std::pair<SymbolId, int64_t>> primitive;
  for (const auto& [id, c] : b.terms()) primitive.emplace_back(id, c / content);
  std::optional<Dim> quotient = divide_polynomial(a, Dim(b.constant() / content, std::move(primitive)));
  if (!quotient) return std::nullopt;
  if (content < 0) quotient = *quotient * -1;
  content = std::abs(content);
  if (divisor(*quotient) % content != 0) return std::nullopt;
  return floor_div(*quotient, content);
}

/// Long division of polynomials by a divisor whose coefficients have no common factor; nothing where a rest
/// is left.
std::optional<Dim> SymbolTable::divide_polynomial(Dim dividend, const Dim& by) {
  if (by.is(1)) return dividend;
  using Term = std::pair<std::vector<SymbolId>, int64_t>;
  const auto leading = [this](const Dim& d) {
    Term best({}, d.constant());
    for (const auto& [id, c] : d.terms()) {
      std::vector<SymbolId> list = factors(id);
      const bool wins =
          list.size() != best.first.size() ? list.size() > best.first.size() : list < best.first;
      if (wins) best = Term(std::move(list), c);
    }
    return best;
  };
  const Term head = leading(by);
  Dim quotient = 0;
  for (size_t step = 0; step < 4 * kMaxExpandedTerms && !dividend.is(0); ++step) {
    const Term next = leading(dividend);
    std::vector<SymbolId> list;
    std::set_difference(next.first.begin(), next.first.end(), head.first.begin(), head.first.end(),
                        std::back_inserter(list));
    if (list.size() + head.first.size() != next.first.size() || next.second % head.second != 0)
      return std::nullopt;
    const Dim term = monomial(std::move(list)) * (next.second / head.second);
    quotient = quotient + term;
    dividend = dividend - multiply(term, by);
  }
  if (!dividend.is(0)) return std::nullopt;
  return quotient;
}

}  // namespace wootz
