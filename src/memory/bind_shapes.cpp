// SPDX-License-Identifier: Apache-2.0
#include "memory/bind_shapes.h"

#include <string>
#include <vector>

namespace wootz {
namespace {

struct Equation {
  Dim dim;
  int64_t found;
  std::string where;
};

std::string text_of(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
  return s + "]";
}

[[noreturn]] void mismatch(const SymbolTable& symbols, const Equation& e, const std::string& expected) {
  const std::string name = e.dim.is_constant() ? "" : " (" + symbols.to_string(e.dim) + ")";
  throw Error(ErrorKind::kInvalidArgument,
              e.where + ": expected " + expected + name + ", found " + std::to_string(e.found));
}

/// The only unbound symbol of the expression with its coefficient, and the sum of the rest; false when there
/// are more.
bool single_unbound(const Dim& dim, const Bindings& bindings, SymbolId& id, int64_t& coefficient,
                    int64_t& rest) {
  int unbound = 0;
  rest = dim.constant();
  for (const auto& [symbol, k] : dim.terms()) {
    if (const auto v = bindings.evaluate(Dim::symbol(symbol))) {
      rest += k * *v;
    } else {
      ++unbound, id = symbol, coefficient = k;
    }
  }
  return unbound == 1;
}

/// True when the equation is settled: checked, or used to bind a symbol.
bool settle(const SymbolTable& symbols, const Equation& e, Bindings& bindings) {
  if (const auto value = bindings.evaluate(e.dim)) {
    if (*value != e.found) mismatch(symbols, e, std::to_string(*value));
    return true;
  }
  SymbolId id = 0;
  int64_t coefficient = 0, rest = 0;
  if (!single_unbound(e.dim, bindings, id, coefficient, rest)) return false;
  if (symbols.at(id).kind != Symbol::Kind::kInput) return false;
  const int64_t left = e.found - rest;
  if (coefficient == 0 || left % coefficient != 0)
    mismatch(symbols, e, "a multiple of " + std::to_string(coefficient) + " plus " + std::to_string(rest));
  const int64_t value = left / coefficient;
  const Symbol& s = symbols.at(id);
  if (value < s.lower || value > s.upper)
    mismatch(symbols, e, std::to_string(s.lower) + ".." + std::to_string(s.upper));
  bindings.bind(id, value);
  return true;
}

}  // namespace

Bindings bind_shapes(const Graph& graph, std::span<const Dims> input_dims) {
  const SymbolTable& symbols = graph.symbols();
  std::vector<Equation> open;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = *graph.inputs()[i];
    if (!input.type.has_rank()) continue;
    if (input.type.rank() != static_cast<int64_t>(input_dims[i].size()))
      throw Error(ErrorKind::kInvalidArgument,
                  "input '" + input.name + "': expected rank " + std::to_string(input.type.rank()) + " " +
                      to_string(input.type, symbols) + ", found " + text_of(input_dims[i]));
    for (size_t axis = 0; axis < input_dims[i].size(); ++axis)
      open.push_back({symbols.resolve((*input.type.shape)[axis]), input_dims[i][axis],
                      "input '" + input.name + "' dimension " + std::to_string(axis)});
  }
  Bindings bindings(symbols);
  for (bool progress = true; progress && !open.empty();) {
    progress = false;
    std::vector<Equation> left;
    for (const Equation& e : open) {
      if (settle(symbols, e, bindings))
        progress = true;
      else
        left.push_back(e);
    }
    open = std::move(left);
  }
  for (const auto& [a, b] : symbols.equalities()) {
    const auto va = bindings.evaluate(symbols.resolve(a)), vb = bindings.evaluate(symbols.resolve(b));
    if (va && vb && *va != *vb)
      throw Error(ErrorKind::kInvalidArgument, "input shapes: the model needs " + symbols.to_string(a) +
                                                   " == " + symbols.to_string(b) + ", found " +
                                                   std::to_string(*va) + " and " + std::to_string(*vb));
  }
  return bindings;
}

}  // namespace wootz
