// SPDX-License-Identifier: Apache-2.0
#include "compiler/tuned_shapes.h"

#include <algorithm>

#include "memory/bind_shapes.h"
#include "memory/placement.h"

namespace wootz {
namespace {

/// Candidate lengths for a symbol that stands at `axis` of an input of `rank`, the most natural first.
std::vector<int64_t> guesses(const Symbol& symbol, int64_t axis, int64_t rank) {
  std::vector<int64_t> list;
  if (rank == 1)
    list = {4, 16, 128, 16000, 2, 1};
  else if (axis == 0)
    list = {1, 2, 128};
  else if (rank >= 4)
    list = {224, 256, 320, 512, 48, 32};
  else
    list = {128, 256, 512, 1024, 16000, 32000, 1};
  for (int64_t& v : list) {
    v = std::clamp(v, symbol.lower, symbol.upper);
    if (symbol.divisor > 1) v = std::max(symbol.divisor, v / symbol.divisor * symbol.divisor);
  }
  return list;
}

/// Whether the shapes bind, and every dimension that varies is at least `least`, as far as the shapes tell.
bool leaves_dims_of(int64_t least, const Graph& graph, std::span<const Dims> dims) {
  try {
    const Bindings bindings = bind_shapes(graph, dims);
    for (const auto& v : graph.values()) {
      if (!v->type.has_rank() || v->is_constant()) continue;
      for (const Dim& d : *v->type.shape)
        if (const auto n = bindings.evaluate(d); !d.is_constant() && n && *n < least) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

struct Guess {
  SymbolId symbol;
  std::string where;
  std::vector<int64_t> list;
  bool is_batch;

  int64_t at(size_t batch_try, size_t length_try) const {
    return list[std::min(is_batch ? batch_try : length_try, list.size() - 1)];
  }
};

std::vector<Dims> dims_under(const Graph& graph, const std::map<std::string, Dims>& asked,
                             const Bindings& bindings) {
  std::vector<Dims> result;
  for (const Value* input : graph.inputs()) {
    if (const auto it = asked.find(input->name); it != asked.end()) {
      result.push_back(it->second);
      continue;
    }
    Dims dims;
    if (input->type.has_rank())
      for (const Dim& d : *input->type.shape)
        dims.push_back(bindings.evaluate(graph.symbols().resolve(d)).value_or(1));
    result.push_back(std::move(dims));
  }
  return result;
}

void check_names(const Graph& graph, const std::map<std::string, Dims>& asked) {
  for (const auto& [name, dims] : asked) {
    const bool known = std::any_of(graph.inputs().begin(), graph.inputs().end(),
                                   [&, &wanted = name](const Value* v) { return v->name == wanted; });
    if (known) continue;
    std::string names;
    for (const Value* v : graph.inputs()) names += (names.empty() ? "'" : ", '") + v->name + "'";
    throw Error(ErrorKind::kInvalidArgument,
                "--shapes: expected one of the inputs " + names + ", found '" + name + "'");
  }
}

}  // namespace

bool shapes_fit(const Graph& graph, std::span<const Dims> dims) { return leaves_dims_of(0, graph, dims); }

std::vector<Dims> choose_tuned_shapes(const Graph& graph, const std::map<std::string, Dims>& asked,
                                      std::vector<std::string>& guessed) {
  check_names(graph, asked);
  const SymbolTable& symbols = graph.symbols();
  Bindings bindings(symbols);
  std::vector<Guess> open;
  // What the asked shapes bind is no guess.
  for (const Value* input : graph.inputs()) {
    const auto it = asked.find(input->name);
    if (it == asked.end() || !input->type.has_rank()) continue;
    for (size_t axis = 0; axis < it->second.size() && axis < input->type.shape->size(); ++axis) {
      const Dim d = symbols.resolve((*input->type.shape)[axis]);
      if (d.terms().size() == 1 && d.constant() == 0 && d.terms()[0].second == 1)
        bindings.bind(d.terms()[0].first, it->second[axis]);
    }
  }
  for (const Value* input : graph.inputs()) {
    if (!input->type.has_rank() || asked.contains(input->name)) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const Dim dim = symbols.resolve((*input->type.shape)[axis]);
      for (const auto& [symbol, factor] : dim.terms()) {
        if (bindings.is_bound(symbol) || symbols.at(symbol).kind != Symbol::Kind::kInput) continue;
        if (std::any_of(open.begin(), open.end(), [&, s = symbol](const Guess& g) { return g.symbol == s; }))
          continue;
        open.push_back(
            {symbol,
             "'" + input->name + "' dimension " + std::to_string(axis) + " (" + symbols.at(symbol).name + ")",
             guesses(symbols.at(symbol), static_cast<int64_t>(axis), input->type.rank()),
             axis == 0 && input->type.rank() > 1});
      }
    }
  }
  // The k-th try takes every length's k-th guess; only where none of them fits, another batch.
  constexpr size_t kBatchTries = 3, kLengthTries = 7;
  for (size_t attempt = 0; attempt < kBatchTries * kLengthTries; ++attempt) {
    const size_t batch_try = attempt / kLengthTries, length_try = attempt % kLengthTries;
    Bindings tried = bindings;
    for (const Guess& g : open) tried.bind(g.symbol, g.at(batch_try, length_try));
    std::vector<Dims> dims = dims_under(graph, asked, tried);
    if (!leaves_dims_of(1, graph, dims) && attempt + 1 < kBatchTries * kLengthTries) continue;
    (void)bind_shapes(graph, dims);  // reports asked shapes that do not fit
    for (const Guess& g : open)
      guessed.push_back("tuned for " + g.where + " = " + std::to_string(g.at(batch_try, length_try)) +
                        "; name your own with --shapes");
    return dims;
  }
  return {};
}

}  // namespace wootz
