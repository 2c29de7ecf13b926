// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
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
  std::span<const std::pair<SymbolId, int64_t>> terms() const& { return terms_; }
  std::span<const std::pair<SymbolId, int64_t>> terms() const&& = delete;  // would outlive its expression

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
/// (data-dependent sizes); the others are computed from their operands, which are older symbols.
struct Symbol {
  enum class Kind : uint8_t { kInput, kUnknown, kFloorDiv, kProduct, kMin, kMax };
  Kind kind = Kind::kInput;
  std::string name;
  Dim a, b;           // kFloorDiv: a by the constant b; kProduct, kMin, kMax: a and b
  int64_t lower = 0;  // facts: lower <= symbol <= upper (INT64_MIN: no lower bound known), divisor | symbol
  int64_t upper = INT64_MAX;
  int64_t divisor = 1;
};

/// Owns the symbols of one graph and its subgraphs; makes equal definitions the same symbol. Expressions are
/// polynomials over input, unknown, floor_div, min and max symbols: products are multiplied out, with one
/// kProduct symbol for each monomial (factors sorted), and a floor_div keeps only what its divisor does not
/// divide. So equal arithmetic compares equal. mod(a, k) is a - k * floor_div(a, k).
class SymbolTable {
 public:
  /// The input symbol of that name, made on first use.
  Dim input(std::string_view name);
  /// A fresh symbol whose value is known only while running; `upper` bounds it where that is known.
  Dim unknown(std::string_view hint, std::optional<int64_t> upper = std::nullopt);
  /// Puts back a symbol as read from a file or text; ids follow the order of the calls.
  SymbolId add(Symbol symbol);

  Dim floor_div(const Dim& a, int64_t k);  // k > 0
  Dim ceil_div(const Dim& a, int64_t k) { return floor_div(a + Dim(k - 1), k); }
  Dim mod(const Dim& a, int64_t k);  // k > 0, result in [0, k)
  Dim multiply(const Dim& a, const Dim& b);
  Dim min(const Dim& a, const Dim& b);
  Dim max(const Dim& a, const Dim& b);
  /// a / b when it is provably exact, found by cancelling factors.
  std::optional<Dim> divide_exact(const Dim& a, const Dim& b);
  Dim product(std::span<const Dim> dims);

  /// Declares a == b. One unknown or input symbol with coefficient +-1 is replaced by the rest everywhere
  /// (unknown ones and younger ones first); false when the two are provably different, and then nothing
  /// changes. What cannot be solved is kept in equalities() and checked when shapes are bound.
  bool equate(const Dim& a, const Dim& b);
  /// The expression with all known replacements applied.
  Dim resolve(const Dim& d) const;
  bool equal(const Dim& a, const Dim& b) const { return resolve(a) == resolve(b); }
  std::span<const std::pair<Dim, Dim>> equalities() const { return equalities_; }

  /// Bounds and divisibility that hold for every binding.
  int64_t lower_bound(const Dim& d) const;
  int64_t upper_bound(const Dim& d) const;  // INT64_MAX: none known
  int64_t divisor(const Dim& d) const;      // largest known divisor; 0 for the constant 0

  /// True when the value depends on a symbol that only the run can tell.
  bool depends_on_unknown(const Dim& d) const;
  bool is_unknown(SymbolId id) const { return symbols_[size_t(id)].kind == Symbol::Kind::kUnknown; }

  const Symbol& at(SymbolId id) const { return symbols_[size_t(id)]; }
  /// Facts that the user or a profile states of an input or unknown symbol.
  void set_bounds(SymbolId id, int64_t lower, int64_t upper);
  void set_divisor(SymbolId id, int64_t divisor);
  size_t size() const { return symbols_.size(); }

  std::string to_string(const Dim& d) const;
  /// Parses what to_string prints, e.g. `2*batch + floor_div(w + 1, 2) - 3`. Unknown names become input
  /// symbols.
  Dim parse(std::string_view text);

 private:
  friend class Bindings;
  friend class DimParser;
  using Definition = std::tuple<Symbol::Kind, Dim, Dim>;
  Dim intern(Symbol::Kind kind, Dim a, Dim b);
  Dim unknown_of_name(std::string name, std::optional<int64_t> upper);
  Dim divide_symbol(SymbolId id, int64_t k);
  bool is_monomial(SymbolId id) const;
  std::vector<SymbolId> factors(SymbolId id) const;
  Dim monomial(std::vector<SymbolId> factors);
  std::optional<Dim> divide_polynomial(Dim dividend, const Dim& by);
  void derive_facts(SymbolId id);
  void derive_all_facts();
  void replace(SymbolId id, const Dim& by);
  bool any_mentioned(const Dim& d, const std::function<bool(SymbolId)>& is) const;
  Dim rebuilt(const Symbol& symbol);
  std::string symbol_text(SymbolId id, int depth) const;
  std::string dim_text(const Dim& d, int depth) const;

  std::vector<Symbol> symbols_;
  std::map<std::string, SymbolId, std::less<>> inputs_by_name_, unknowns_by_name_;
  std::map<Definition, SymbolId> by_definition_;
  std::map<SymbolId, Dim> replaced_;
  std::vector<std::pair<Dim, Dim>> equalities_;
};

/// Values for symbols: bound ones by id, the rest computed from the table. The run's view of the symbols.
class Bindings {
 public:
  explicit Bindings(const SymbolTable& table) : table_(&table) {}
  void bind(SymbolId id, int64_t value) {
    values_[id] = value;
    computed_.clear();
  }
  bool is_bound(SymbolId id) const { return values_.contains(id); }
  /// The value, or nothing where a symbol is not bound yet or the arithmetic overflows.
  std::optional<int64_t> evaluate(const Dim& d) const;

 private:
  std::optional<int64_t> known(SymbolId id) const;
  std::optional<int64_t> affine(const Dim& d) const;
  std::optional<int64_t> derived(const Symbol& symbol) const;
  bool compute(SymbolId id) const;
  const SymbolTable* table_;
  std::map<SymbolId, int64_t> values_;
  mutable std::map<SymbolId, int64_t>
      computed_;  // of derived symbols; one context's own, like the whole object
};

}  // namespace wootz
