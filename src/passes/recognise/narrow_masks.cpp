// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/narrow_masks.h"

#include <cstring>

#include "ops/registry.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

constexpr size_t kMaskInput = 3;
constexpr int kDeepestMask = 12;

bool is_broadcast_elementwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise && def->deterministic && node.outputs().size() == 1;
}

/// A constant whose rows (its last axis) are all the same, with one of them; nothing where they differ.
std::optional<Tensor> one_row(const Tensor& t) {
  Dims dims = t.dims();
  const size_t bytes = dtype_size(t.dtype());
  const int64_t rows = dims[dims.size() - 2], row = dims.back() * static_cast<int64_t>(bytes);
  if (t.size() == 0 || t.dtype() == DType::kString) return std::nullopt;
  const int64_t matrices = t.size() / (rows * dims.back());
  dims[dims.size() - 2] = 1;
  Tensor narrow = Tensor::zeros(t.dtype(), dims);
  const auto* from = static_cast<const char*>(t.data());
  auto* to = static_cast<char*>(narrow.data());
  for (int64_t m = 0; m < matrices; ++m, from += rows * row, to += row) {
    for (int64_t r = 1; r < rows; ++r)
      if (std::memcmp(from, from + r * row, static_cast<size_t>(row)) != 0) return std::nullopt;
    std::memcpy(to, from, static_cast<size_t>(row));
  }
  return narrow;
}

/// Rebuilds a mask with one row, from the elementwise nodes that made it.
class Narrowing {
 public:
  explicit Narrowing(Node& attention) : attention_(attention), symbols_(attention.graph()->symbols()) {}

  std::optional<Patch> patch() {
    if (attention_.inputs().size() <= kMaskInput || !attention_.input(kMaskInput)) return std::nullopt;
    Value* mask = attention_.input(kMaskInput);
    if (!mask->type.has_rank() || has_one_row(mask)) return std::nullopt;
    const auto narrow = narrowed(mask, 0);
    if (!narrow) return std::nullopt;
    patch_.replace(attention_.output(0),
                   patch_.node("wootz", "Attention",
                               {attention_.input(0), attention_.input(1), attention_.input(2), *narrow},
                               attention_.attributes, 1));
    return std::move(patch_);
  }

 private:
  bool has_one_row(const Value* v) const {
    const int64_t rank = v->type.rank();
    if (rank < 2) return true;
    const Dim rows = symbols_.resolve((*v->type.shape)[static_cast<size_t>(rank - 2)]);
    return rows.is_constant() && rows.value() == 1;
  }

  /// What broadcasts to `v` and has one row; nothing where rows may differ.
  std::optional<PatchOperand> narrowed(Value* v, int depth) {
    if (!v || !v->type.has_rank() || depth > kDeepestMask) return std::nullopt;
    if (has_one_row(v)) return PatchOperand(v);
    if (v->is_constant()) {
      std::optional<Tensor> row = one_row(*v->constant);
      return row ? std::optional(patch_.constant(std::move(*row))) : std::nullopt;
    }
    const Node* node = v->producer();
    if (!node) return std::nullopt;
    if (node->is("Expand")) return narrowed(node->input(0), depth + 1);
    if (!is_broadcast_elementwise(*node)) return std::nullopt;
    std::vector<PatchOperand> inputs;
    for (Value* input : node->inputs()) {
      const auto narrow = input ? narrowed(input, depth + 1) : std::optional(PatchOperand());
      if (!narrow) return std::nullopt;
      inputs.push_back(*narrow);
    }
    return patch_.node(node->domain, node->op, std::move(inputs), node->attributes, 1);
  }

  Node& attention_;
  const SymbolTable& symbols_;
  Patch patch_;
};

bool run_narrow_masks(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_narrow_masks(*inner, context);
    if (!node.is("wootz", "Attention") || context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = Narrowing(node).patch())
      changed |= apply_patch(*patch, node, "a mask for every query => one row for all", context);
  }
  return changed;
}

}  // namespace

Pass narrow_masks() {
  return {"narrow_masks", "Masks of attention that are the same for every query get one row.",
          run_narrow_masks};
}

}  // namespace wootz
