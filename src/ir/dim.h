// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wootz {

using SymbolId = int32_t;

/// An affine expression over symbols with integer coefficients: constant + sum(coefficient * symbol).
/// Two equal expressions compare equal: terms are sorted by symbol and have no zero coefficient.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t constant) : constant_(constant) {}  // NOLINT: a number is a dimension
  static Dim symbol(SymbolId id) { return Dim(0, {{id, 1}}); }
  Dim(int64_t constant, std::vector<std::pair<SymbolId, int64_t>> terms);

  bool is_constant() const { return terms_.empty(); }
  /// The value of a constant expression; an internal error otherwise.
  int64_t value() const;
  bool is(int64_t v) const { return terms_.empty() && constant_ == v; }
  int64_t constant() const { return constant_; }
  std::span<const std::pair<SymbolId, int64_t>> terms() const { return terms_; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, int64_t k);
  friend bool operator==(const Dim& a, const Dim& b) = default;
  friend bool operator<(const Dim& a, const Dim& b);

 private:
  int64_t constant_ = 0;
  std::vector<std::pair<SymbolId, int64_t>> terms_;
};

/// What a symbol stands for. kInput symbols are bound by the shapes of the inputs, kUnknown ones by the run
/// (data-dependent sizes); the others are computed from their operands.
struct Symbol {
  enum class Kind : uint8_t { kInput, kUnknown, kFloorDiv, kMod, kProduct, kMin, kMax };
  Kind kind = Kind::kInput;
  std::string name;
  Dim a, b;                // kFloorDiv, kMod: a by the constant b; kProduct, kMin, kMax: a and b
  int64_t lower = 0;       // facts: lower <= symbol <= upper, divisor | symbol
  int64_t upper = INT64_MAX;
  int64_t divisor = 1;
};

/// Owns the symbols of one graph and its subgraphs; makes equal definitions the same symbol.
class SymbolTable {
 public:
  /// The input symbol of that name, made on first use.
  Dim input(std::string_view name);
  /// A fresh symbol whose value is known only while running; `upper` bounds it where that is known.
  Dim unknown(std::string_view hint, std::optional<int64_t> upper = std::nullopt);
  /// Puts back a symbol as read from a file or text; ids follow the order of the calls.
  SymbolId add(Symbol symbol);

  Dim floor_div(const Dim& a, int64_t k);          // k > 0
  Dim ceil_div(const Dim& a, int64_t k) { return floor_div(a + Dim(k - 1), k); }
  Dim mod(const Dim& a, int64_t k);                // k > 0, result in [0, k)
  Dim multiply(const Dim& a, const Dim& b);
  Dim min(const Dim& a, const Dim& b);
  Dim max(const Dim& a, const Dim& b);
  /// a / b when it is provably exact, found by cancelling factors.
  std::optional<Dim> divide_exact(const Dim& a, const Dim& b);
  Dim product(std::span<const Dim> dims);

  /// Declares a == b. One input symbol with coefficient +-1 is replaced by the rest everywhere; false when the two are
  /// provably different. What cannot be solved is kept in equalities() and checked when shapes are bound.
  bool equate(const Dim& a, const Dim& b);
  /// The expression with all known replacements applied.
  Dim resolve(const Dim& d) const;
  bool equal(const Dim& a, const Dim& b) const { return resolve(a) == resolve(b); }
  std::span<const std::pair<Dim, Dim>> equalities() const { return equalities_; }

  /// Bounds and divisibility that hold for every binding.
  int64_t lower_bound(const Dim& d) const;
  int64_t upper_bound(const Dim& d) const;   // INT64_MAX: none known
  int64_t divisor(const Dim& d) const;       // largest known divisor; 0 for the constant 0

  /// True when the value depends on a symbol that only the run can tell.
  bool depends_on_unknown(const Dim& d) const;
  bool is_unknown(SymbolId id) const { return symbols_[size_t(id)].kind == Symbol::Kind::kUnknown; }

  const Symbol& at(SymbolId id) const { return symbols_[size_t(id)]; }
  void set_bounds(SymbolId id, int64_t lower, int64_t upper);
  size_t size() const { return symbols_.size(); }

  std::string to_string(const Dim& d) const;
  /// Parses what to_string prints, e.g. `2*batch + floor_div(w + 1, 2) - 3`. Unknown names become input symbols.
  Dim parse(std::string_view text);

 private:
  Dim intern(Symbol symbol);
  std::vector<Symbol> symbols_;
  std::map<std::string, SymbolId, std::less<>> by_name_;
  std::map<SymbolId, Dim> replaced_;
  std::vector<std::pair<Dim, Dim>> equalities_;
};

/// Values for symbols: bound ones by id, the rest computed from the table. The run's view of the symbols.
class Bindings {
 public:
  explicit Bindings(const SymbolTable& table) : table_(&table) {}
  void bind(SymbolId id, int64_t value) { values_[id] = value; }
  bool is_bound(SymbolId id) const { return values_.contains(id); }
  /// The value, or nothing where a symbol is not bound yet or the arithmetic overflows.
  std::optional<int64_t> evaluate(const Dim& d) const;

 private:
  std::optional<int64_t> evaluate(SymbolId id) const;
  const SymbolTable* table_;
  mutable std::map<SymbolId, int64_t> values_;
};

}  // namespace wootz
