// SPDX-License-Identifier: Apache-2.0
#include "compiler/trials.h"

#include <algorithm>
#include <map>

#include "compiler/repeat_sample.h"
#include "compiler/tuned_shapes.h"
#include "memory/bind_shapes.h"

namespace wootz {
namespace {

constexpr int64_t kRows = 3;
constexpr uint64_t kNewRowSeed = 11;

/// Values of the input symbols at the tuned dims.
std::map<SymbolId, int64_t> symbol_values(const Graph& graph, std::span<const Dims> tuned) {
  const SymbolTable& symbols = graph.symbols();
  const Bindings bindings = bind_shapes(graph, tuned);
  std::map<SymbolId, int64_t> values;
  for (const Value* input : graph.inputs()) {
    if (!input->type.has_rank()) continue;
    for (const Dim& unresolved : *input->type.shape) {
      const Dim dim = symbols.resolve(unresolved);
      for (const auto& [id, factor] : dim.terms())
        if (symbols.at(id).kind == Symbol::Kind::kInput)
          if (const auto v = bindings.evaluate(Dim::symbol(id))) values[id] = *v;
    }
  }
  return values;
}

/// The symbol that stands first in every input; -1 where there is none.
SymbolId batch_symbol(const Graph& graph) {
  const SymbolTable& symbols = graph.symbols();
  SymbolId batch = -1;
  for (const Value* input : graph.inputs()) {
    if (!input->type.has_rank() || input->type.rank() == 0) return -1;
    const Dim d = symbols.resolve((*input->type.shape)[0]);
    if (d.terms().size() != 1 || (batch >= 0 && d.terms()[0].first != batch)) return -1;
    batch = d.terms()[0].first;
  }
  // Of a single vector it is its length.
  return graph.inputs().size() == 1 && graph.inputs()[0]->type.rank() == 1 ? -1 : batch;
}

int64_t allowed(const Symbol& symbol, int64_t v) {
  if (symbol.divisor > 1) v = std::max(symbol.divisor, v / symbol.divisor * symbol.divisor);
  return std::clamp(v, std::max<int64_t>(symbol.lower, 1), symbol.upper);
}

/// Half of `n` and a little, by `step` at a time where that is more than 1.
int64_t smaller(const Symbol& symbol, int64_t n, int64_t step) {
  const int64_t v = n / 2;
  return allowed(symbol, step > 1 ? std::max(step, v / step * step) : v | 1);
}

std::optional<std::vector<Dims>> dims_at(const Graph& graph, std::span<const Dims> tuned,
                                         const std::map<SymbolId, int64_t>& values) {
  Bindings bindings(graph.symbols());
  for (const auto& [id, v] : values) bindings.bind(id, v);
  std::vector<Dims> result(tuned.begin(), tuned.end());
  for (size_t i = 0; i < result.size(); ++i) {
    const Type& type = graph.inputs()[i]->type;
    if (!type.has_rank()) continue;
    for (size_t axis = 0; axis < result[i].size(); ++axis) {
      const auto v = bindings.evaluate(graph.symbols().resolve((*type.shape)[axis]));
      if (!v || *v < 1) return std::nullopt;
      result[i][axis] = *v;
    }
  }
  if (!shapes_fit(graph, result)) return std::nullopt;
  return result;
}

}  // namespace

OtherShapes other_shapes(const Graph& graph, std::span<const Dims> tuned) {
  const SymbolId batch = batch_symbol(graph);
  const std::map<SymbolId, int64_t> values = symbol_values(graph, tuned);
  OtherShapes shapes;
  const auto add = [&](std::vector<std::vector<Dims>>& list, const std::map<SymbolId, int64_t>& at) {
    auto dims = at == values ? std::nullopt : dims_at(graph, tuned, at);
    if (dims && std::find(list.begin(), list.end(), *dims) == list.end()) list.push_back(std::move(*dims));
  };
  for (const int64_t step : {1, 32}) {  // many networks halve their pictures five times
    std::map<SymbolId, int64_t> at = values;
    for (auto& [id, v] : at)
      if (id != batch && v > 1) v = smaller(graph.symbols().at(id), v, step);
    add(shapes.half, at);
  }
  std::map<SymbolId, int64_t> small = values, least = values;
  int64_t next = 11;
  for (auto& [id, v] : small) {
    v = allowed(graph.symbols().at(id), id == batch ? 2 : next);
    if (id != batch) next = next > 5 ? next - 2 : 13;
    least[id] = allowed(graph.symbols().at(id), 1);
  }
  add(shapes.small, small);
  add(shapes.small, least);
  for (size_t at = 0; small.size() > 1 && at < small.size(); ++at) {
    auto& [id, v] = *std::next(small.begin(), static_cast<std::ptrdiff_t>(at));
    v = allowed(graph.symbols().at(id), v + (id == batch ? 1 : 2));
    add(shapes.steps, small);
  }
  return shapes;
}

std::optional<VerifySample> other_batch(const Graph& graph, std::span<const Dims> tuned,
                                        const VerifySample& sample, const VerifySample* others,
                                        int64_t rows) {
  if (sample.inputs.empty() || sample.inputs[0].tensor.rank() == 0 || batch_symbol(graph) < 0)
    return std::nullopt;
  const int64_t batch = sample.inputs[0].tensor.dims()[0];
  if (!with_rows(graph, tuned, 1)) return std::nullopt;
  if (batch > 1) return row_of(sample, batch - 1);
  if (batch != 1 || !others || !with_rows(graph, tuned, rows)) return std::nullopt;
  auto several = repeat_rows(sample, rows);
  if (!several) return std::nullopt;
  for (size_t i = 0; i < others->expected.size(); ++i)
    if (others->expected[i].kind != Datum::Kind::kTensor ||
        others->expected[i].tensor.dims() != sample.expected[i].tensor.dims() ||
        others->expected[i].tensor.dtype() != sample.expected[i].tensor.dtype())
      return std::nullopt;
  put_row(several->inputs, others->inputs, 1);
  put_row(several->expected, others->expected, 1);
  several->name = sample.name + ", batch of " + std::to_string(rows);
  return several;
}

std::string batch_bits(
    const Graph& graph, std::span<const Dims> tuned,
    const std::function<bool(const std::vector<Datum>& inputs, std::vector<Datum>& outputs)>& run_engine) {
  const auto single = with_rows(graph, tuned, 1);
  if (!single || batch_symbol(graph) < 0) return "";
  std::vector<std::vector<Datum>> rows, alone;
  for (uint64_t seed : {kNewRowSeed, kNewRowSeed + 1}) {
    rows.push_back(random_inputs(graph, *single, seed));
    alone.emplace_back(graph.outputs().size());
    if (!run_engine(rows.back(), alone.back())) return "";
  }
  for (const int64_t batch : {int64_t{1}, kRows, int64_t{8}}) {
    const auto dims = with_rows(graph, tuned, batch);
    if (!dims) continue;
    std::vector<Datum> inputs = random_inputs(graph, *dims, kNewRowSeed + 2), outputs(graph.outputs().size());
    for (int64_t r = 0; r < batch; ++r) put_row(inputs, rows[static_cast<size_t>(r % 2)], r);
    if (!run_engine(inputs, outputs)) continue;
    const VerifySample found{"", inputs, outputs, true};
    for (int64_t r = 0; r < batch; ++r) {
      const auto row = row_of(found, r);
      for (size_t i = 0; row && i < outputs.size(); ++i)
        if (!row->expected[i].tensor.same_bits(alone[static_cast<size_t>(r % 2)][i].tensor))
          return "row " + std::to_string(r) + " of a batch of " + std::to_string(batch) +
                 " differs from itself alone in the bits of output '" + graph.outputs()[i]->name + "'";
    }
  }
  return "";
}

}  // namespace wootz
