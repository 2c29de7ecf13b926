// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_shapes.h"

#include "ir/element.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

/// The value of known contents as an operand: a constant when all elements are numbers, a symbolic constant
/// when a shape tells them, nothing when only the run can.
std::optional<PatchOperand> operand_of(const Value& value, Patch& patch) {
  const SymbolTable& symbols = value.graph()->symbols();
  if (!value.contents || !value.type.has_rank() || value.type.rank() > 1) return std::nullopt;
  const bool whole_floats = value.type.dtype == DType::kFloat32 || value.type.dtype == DType::kFloat64;
  if (!is_integer(value.type.dtype) && value.type.dtype != DType::kBool && !whole_floats) return std::nullopt;
  std::vector<Dim> contents;
  bool all_numbers = true;
  for (const Dim& d : *value.contents) {
    contents.push_back(symbols.resolve(d));
    if (symbols.depends_on_unknown(contents.back())) return std::nullopt;
    all_numbers &= contents.back().is_constant();
  }
  const bool scalar = value.type.rank() == 0;
  if (!all_numbers && whole_floats) return std::nullopt;
  if (!all_numbers) return patch.symbolic(value.type.dtype, std::move(contents), scalar);
  Tensor t = Tensor::zeros(value.type.dtype, scalar ? Dims{} : Dims{static_cast<int64_t>(contents.size())});
  visit_numeric(value.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_constructible_v<T, int64_t>)
      for (size_t i = 0; i < contents.size(); ++i) t.as<T>()[i] = T(contents[i].value());
  });
  return patch.constant(std::move(t));
}

bool run_fold_shapes(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_fold_shapes(*inner, context);
    if (context.exhausted() || !is_live(node)) continue;
    Patch patch;
    for (Value* v : node.outputs()) {
      if (!v || (v->uses().empty() && !graph.is_output(v))) continue;
      if (std::optional<PatchOperand> known = operand_of(*v, patch)) patch.replace(v, *known);
    }
    if (!patch.replacements.empty()) changed |= apply_patch(patch, node, "fold_shapes", context);
  }
  return changed;
}

}  // namespace

Pass fold_shapes() {
  return {"fold_shapes",
          "Integer values whose elements are known expressions of the inputs' sizes become constants.",
          run_fold_shapes};
}

}  // namespace wootz
