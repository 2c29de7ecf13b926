// SPDX-License-Identifier: Apache-2.0
// Bounds and divisibility of expressions.
#include <algorithm>
#include <numeric>

#include "ir/dim.h"

namespace wootz {
namespace {

/// A closed interval; the ends of int64 stand for infinity.
struct Range {
  int64_t lower, upper;
};

bool is_infinite(int64_t v) { return v == INT64_MIN || v == INT64_MAX; }

int64_t add_saturated(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

int64_t mul_saturated(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t r = 0;
  const bool beyond = is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &r);
  return beyond ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : r;
}

int64_t floor_quotient_of_end(int64_t a, int64_t k) {
  if (is_infinite(a)) return a;
  return a / k - (a % k < 0);
}

Range multiplied(Range a, Range b) {
  const int64_t ends[] = {mul_saturated(a.lower, b.lower), mul_saturated(a.lower, b.upper),
                          mul_saturated(a.upper, b.lower), mul_saturated(a.upper, b.upper)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Range interval(const SymbolTable& table, const Dim& d) {
  Range sum{d.constant(), d.constant()};
  for (const auto& [id, coefficient] : d.terms()) {
    const Symbol& s = table.at(id);
    const Range term = multiplied({s.lower, s.upper}, {coefficient, coefficient});
    sum = {add_saturated(sum.lower, term.lower), add_saturated(sum.upper, term.upper)};
  }
  return sum;
}

/// The lower bound of d. Interval arithmetic forgets that floor_div(w, 2) and w move together, so a floor_div
/// is also tried as its real quotient's end: k * floor_div(a, k) lies in [a - (k - 1), a].
int64_t lower_end(const SymbolTable& table, const Dim& d, int depth) {
  constexpr int64_t kSmall = 1 << 20;  // keeps the products below within 64 bits
  int64_t best = interval(table, d).lower;
  if (depth == 0) return best;
  for (size_t i = d.terms().size(); i-- > 0;) {
    const auto [id, c] = d.terms()[i];
    const Symbol& s = table.at(id);
    if (s.kind != Symbol::Kind::kFloorDiv) continue;
    const int64_t k = s.b.value();
    const auto is_small = [](int64_t v) { return v > -kSmall && v < kSmall; };
    bool fits = is_small(k) && is_small(c) && is_small(d.constant()) && is_small(s.a.constant());
    for (const Dim* part : {&d, &s.a})
      for (const auto& term : part->terms()) fits = fits && is_small(term.second);
    if (!fits) break;
    const Dim scaled = (d - Dim::symbol(id) * c) * k + (c > 0 ? s.a - Dim(k - 1) : s.a) * c;
    const int64_t end = lower_end(table, scaled, depth - 1);
    if (!is_infinite(end)) best = std::max(best, -floor_quotient_of_end(-end, k));
    break;  // the youngest is enough: the recursion reaches the others
  }
  return best;
}

constexpr int kRelaxations = 4;

}  // namespace

int64_t SymbolTable::lower_bound(const Dim& d) const { return lower_end(*this, resolve(d), kRelaxations); }

int64_t SymbolTable::upper_bound(const Dim& d) const {
  const int64_t negated = lower_end(*this, resolve(d) * -1, kRelaxations);
  return negated == INT64_MIN ? INT64_MAX : -negated;
}

int64_t SymbolTable::divisor(const Dim& d) const {
  const Dim resolved = resolve(d);
  // The smallest number has no magnitude; what divides its half divides it too.
  const auto halved = [](int64_t n) { return n == INT64_MIN ? n / 2 : n; };
  int64_t common = halved(resolved.constant());
  for (const auto& [id, coefficient] : resolved.terms()) {
    int64_t term = 0;
    if (__builtin_mul_overflow(coefficient, at(id).divisor, &term)) term = coefficient;
    common = std::gcd(common, halved(term));
  }
  return common;
}

void SymbolTable::set_bounds(SymbolId id, int64_t lower, int64_t upper) {
  symbols_[static_cast<size_t>(id)].lower = lower;
  symbols_[static_cast<size_t>(id)].upper = upper;
  derive_all_facts();
}

void SymbolTable::set_divisor(SymbolId id, int64_t divisor) {
  symbols_[static_cast<size_t>(id)].divisor = divisor;
  derive_all_facts();
}

void SymbolTable::derive_all_facts() {
  for (SymbolId id = 0; id < static_cast<SymbolId>(symbols_.size()); ++id) derive_facts(id);
}

void SymbolTable::derive_facts(SymbolId id) {
  Symbol& s = symbols_[static_cast<size_t>(id)];
  const Range a{lower_bound(s.a), upper_bound(s.a)}, b{lower_bound(s.b), upper_bound(s.b)};
  const int64_t da = divisor(s.a), db = divisor(s.b);
  Range range{};
  switch (s.kind) {
    case Symbol::Kind::kInput:
    case Symbol::Kind::kUnknown: return;
    case Symbol::Kind::kFloorDiv:
      range = {floor_quotient_of_end(a.lower, b.lower), floor_quotient_of_end(a.upper, b.lower)};
      s.divisor = da % b.lower == 0 ? da / b.lower : 1;
      break;
    case Symbol::Kind::kProduct:
      range = multiplied(a, b);
      if (s.a == s.b) range.lower = std::max<int64_t>(range.lower, 0);
      if (__builtin_mul_overflow(da, db, &s.divisor)) s.divisor = da;
      break;
    case Symbol::Kind::kMin:
      range = {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
      s.divisor = std::gcd(da, db);
      break;
    case Symbol::Kind::kMax:
      range = {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
      s.divisor = std::gcd(da, db);
      break;
  }
  s.divisor = std::max<int64_t>(s.divisor, 1);
  s.lower = range.lower;
  s.upper = range.upper;
}

}  // namespace wootz
