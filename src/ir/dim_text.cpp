// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/check.h"
#include "base/error.h"
#include "ir/dim.h"
#include "ir/quote.h"

namespace wootz {
namespace {

/// Deeper definitions print as `#id`, which parses in the same table only: text stays short whatever the
/// model.
constexpr int kMaxPrintedDepth = 8;
constexpr int kMaxParsedDepth = 100;

bool is_function_name(std::string_view name) {
  return name == "floor_div" || name == "mod" || name == "min" || name == "max";
}

std::string symbol_name_text(std::string_view name) {
  return is_plain_name(name) && !is_function_name(name) ? std::string(name) : wootz::quoted(name);
}

}  // namespace

std::string SymbolTable::symbol_text(SymbolId id, int depth) const {
  const Symbol& s = at(id);
  // Texts are put in order, not numbers: the text does not depend on the order in which symbols were made.
  const auto joined_in_order = [](std::vector<std::string> parts, const char* separator) {
    std::sort(parts.begin(), parts.end());
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
    return text;
  };
  const auto call = [&](const char* function) {
    return std::string(function) + "(" +
           joined_in_order({dim_text(s.a, depth + 1), dim_text(s.b, depth + 1)}, ", ") + ")";
  };
  if (s.kind == Symbol::Kind::kInput) return symbol_name_text(s.name);
  if (s.kind == Symbol::Kind::kUnknown) return "?" + symbol_name_text(s.name);
  if (depth > kMaxPrintedDepth) return "#" + std::to_string(id);
  switch (s.kind) {
    case Symbol::Kind::kFloorDiv:
      return "floor_div(" + dim_text(s.a, depth + 1) + ", " + std::to_string(s.b.value()) + ")";
    case Symbol::Kind::kMin: return call("min");
    case Symbol::Kind::kMax: return call("max");
    default: break;
  }
  std::vector<std::string> parts;
  if (is_monomial(id)) {
    for (SymbolId factor : factors(id)) parts.push_back(symbol_text(factor, depth + 1));
  } else {
    parts = {"(" + dim_text(s.a, depth + 1) + ")", "(" + dim_text(s.b, depth + 1) + ")"};
  }
  return joined_in_order(std::move(parts), "*");
}

std::string SymbolTable::dim_text(const Dim& d, int depth) const {
  std::string text;
  const auto append = [&](int64_t coefficient, const std::string& symbol) {
    const bool negative = coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (symbol.empty())
      text += std::to_string(magnitude);
    else if (magnitude == 1)
      text += symbol;
    else
      text += std::to_string(magnitude) + "*" + symbol;
  };
  std::vector<std::pair<std::string, int64_t>> terms;
  for (const auto& [id, coefficient] : d.terms()) terms.emplace_back(symbol_text(id, depth), coefficient);
  std::sort(terms.begin(), terms.end());
  for (const auto& [symbol, coefficient] : terms) append(coefficient, symbol);
  if (d.constant() != 0 || d.is_constant()) append(d.constant(), "");
  return text;
}

std::string SymbolTable::to_string(const Dim& d) const { return dim_text(resolve(d), 0); }

class DimParser {
 public:
  DimParser(SymbolTable& table, std::string_view text) : table_(table), text_(text) {}

  Dim parse() {
    Dim d = sum(0);
    skip_space();
    if (at_ != text_.size()) fail("expected the end");
    return d;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kInvalidArgument,
                "dimension '" + std::string(text_) + "', column " + std::to_string(at_ + 1) + ": " + what);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }

  Dim sum(int depth) {
    if (depth > kMaxParsedDepth) fail("nested too deeply");
    const bool negative = take('-');
    Dim d = term(depth, negative);
    while (true) {
      if (take('+'))
        d = d + term(depth, false);
      else if (take('-'))
        d = d + term(depth, true);
      else
        return d;
    }
  }

  Dim term(int depth, bool negative) {
    Dim d = factor(depth, negative);
    while (take('*')) d = table_.multiply(d, factor(depth, false));
    return d;
  }

  Dim factor(int depth, bool negative) {
    skip_space();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number(negative);
    const Dim d = atom(depth);
    return negative ? d * -1 : d;
  }

  Dim number(bool negative) {
    // The sign belongs to the digits here: -9223372036854775808 has no positive counterpart.
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(at_));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) fail("expected a 64-bit number");
    at_ += static_cast<size_t>(end - digits.data()) - (negative ? 1 : 0);
    return value;
  }

  Dim atom(int depth) {
    if (take('(')) {
      Dim d = sum(depth + 1);
      expect(')');
      return d;
    }
    if (take('#')) {
      const Dim id = number(false);
      if (id.value() >= static_cast<int64_t>(table_.size())) fail("no symbol has this number");
      return table_.resolve(Dim::symbol(static_cast<SymbolId>(id.value())));
    }
    const bool unknown = take('?');
    skip_space();
    const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
    const std::optional<std::string> name = take_name(text_, at_);
    if (!name) fail("expected a number, a name or '('");
    if (unknown) return unknown_symbol(*name);
    if (!is_quoted && is_function_name(*name) && take('(')) return call(*name, depth);
    return table_.input(*name);
  }

  Dim unknown_symbol(const std::string& name) {
    const auto it = table_.unknowns_by_name_.find(name);
    if (it == table_.unknowns_by_name_.end()) return table_.unknown_of_name(name, std::nullopt);
    return table_.resolve(Dim::symbol(it->second));
  }

  Dim call(const std::string& function, int depth) {
    const Dim a = sum(depth + 1);
    expect(',');
    const Dim b = sum(depth + 1);
    expect(')');
    if (function == "min") return table_.min(a, b);
    if (function == "max") return table_.max(a, b);
    if (!b.is_constant() || b.value() <= 0) fail("expected division by a number > 0");
    return function == "mod" ? table_.mod(a, b.value()) : table_.floor_div(a, b.value());
  }

  SymbolTable& table_;
  std::string_view text_;
  size_t at_ = 0;
};

Dim SymbolTable::parse(std::string_view text) { return DimParser(*this, text).parse(); }

}  // namespace wootz
