// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_reshapes.h"

#include <algorithm>

#include "ops/registry.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

std::optional<Patch> reshape_to_result(const Match& m, Value* x) {
  const Value* out = m.root->output(0);
  if (!out->type.has_rank()) return std::nullopt;
  Patch patch;
  const auto y = reshape(patch, x, *out->type.shape, out->graph()->symbols());
  if (!y) return std::nullopt;
  patch.replace(m.root->output(0), *y);
  return patch;
}

std::optional<Patch> canonical_reshape(const Match& m, PassContext&) {
  return reshape_to_result(m, m.value("x"));
}

/// -1, 0 and computed shapes give way to the sizes themselves.
std::optional<Patch> known_shape(const Match& m, PassContext&) {
  if (m.root->attributes.get<int64_t>("allowzero", 0) != 0 && !m.root->input(1)->producer()) {
    const auto sizes = known_dims(m.root->input(1));
    bool exact = sizes.has_value();
    for (size_t i = 0; exact && i < sizes->size(); ++i) exact = !(*sizes)[i].is(-1);
    if (exact) return std::nullopt;
  }
  return reshape_to_result(m, m.value("x"));
}

std::optional<Patch> merge_reshapes(const Match& m, PassContext&) {
  return reshape_to_result(m, m.value("x"));
}

std::optional<Patch> drop_reshape(const Match& m, PassContext&) {
  if (!same_shape(m.value("x"), m.root->output(0))) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), m.value("x"));
  return patch;
}

bool is_elementwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise && node.outputs().size() == 1 && node.output(0) &&
         node.op != "Clip";
}

/// How many trailing dims the reshape keeps.
size_t kept_trailing_dims(const Value& x, const Value& out) {
  const SymbolTable& symbols = x.graph()->symbols();
  const Shape &a = *x.type.shape, &b = *out.type.shape;
  size_t n = 0;
  while (n < a.size() && n < b.size() && symbols.equal(a[a.size() - 1 - n], b[b.size() - 1 - n])) ++n;
  return n;
}

/// A constant operand of a result of the reshaped dims, under the dims before the reshape.
std::optional<Tensor> constant_before(const Value& constant, const Value& x, const Value& out) {
  const Tensor& t = *constant.constant;
  if (t.rank() == 0 || t.dims().size() <= kept_trailing_dims(x, out)) return t;
  const size_t rank = x.type.shape->size();
  if (t.size() == 1) return t.reshaped(Dims(std::min(rank, t.dims().size()), 1));
  const auto map = unit_axes_map(x, out);
  if (!map || t.dims().size() > map->size()) return std::nullopt;
  Dims dims(rank, 1);
  const size_t lead = map->size() - t.dims().size();
  for (size_t i = 0; i < t.dims().size(); ++i) {
    const int from = (*map)[lead + i];
    if (from >= 0)
      dims[size_t(from)] = t.dims()[i];
    else if (t.dims()[i] != 1)
      return std::nullopt;
  }
  return t.reshaped(dims);
}

constexpr int kMaxTail = 16;

/// Comes from a contraction, or from pointwise nodes behind one, and is read by nothing but one node.
bool follows_contraction(const Value* v, int depth = 0) {
  const Node* node = v && is_read_once(v) && depth <= kMaxTail ? v->producer() : nullptr;
  if (!node) return false;
  if (node->is("Conv") || node->is("ConvTranspose") || node->is("MatMul") || node->is("Gemm")) return true;
  return is_elementwise(*node) &&
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const Value* x) { return same_shape(x, v) && follows_contraction(x, depth + 1); });
}

/// Whether the node joins a contraction as it stands.
bool joins_contraction(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* v) { return same_shape(v, node.output(0)) && follows_contraction(v); });
}

/// A transpose that keeps rows of the last axis whole, and a reshape that does as well: a pointwise operator
/// reads such a value where it lies.
bool moves_rows(const Node& reshape) {
  const Node* t = produced_by(reshape.input(0), "Transpose");
  if (!t || kept_trailing_dims(*reshape.input(0), *reshape.output(0)) < 1) return false;
  const Ints perm = t->attributes.get<Ints>("perm", {});
  return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1;
}

/// Whether the node joins values, none of which is read where a transpose left it (then it stays there).
bool takes_moved_rows(const Node& node) {
  const auto varies = [](const Value* v) { return v && !v->is_constant(); };
  const auto is_moved = [](const Value* v) { return produced_by(v, "Transpose") != nullptr; };
  return std::count_if(node.inputs().begin(), node.inputs().end(), varies) > 1 &&
         std::none_of(node.inputs().begin(), node.inputs().end(), is_moved);
}

/// f(reshape(x), y) => reshape(f(x, reshape(y))) where x comes from a contraction or its tail, so that f
/// joins it, or where x are moved rows that f joins with another value: no copy then. A node that joins a
/// contraction as it stands stays: what sank is such a node, or its other operands follow no contraction, so
/// in graph order each node sinks once for every change before it, and two contractions of different shapes
/// that meet do not take turns for ever.
std::optional<Patch> sink_reshape(Node& node) {
  if (!is_elementwise(node) || joins_contraction(node)) return std::nullopt;
  const Node* behind = nullptr;
  const bool takes_rows = takes_moved_rows(node);
  for (const Value* v : node.inputs()) {
    if (!v) return std::nullopt;
    const Node* r = produced_by(v, "Reshape");
    if (!behind && r && is_read_once(v) && same_shape(v, node.output(0)) && r->input(0)->type.has_rank() &&
        (follows_contraction(r->input(0)) || (takes_rows && is_read_once(r->input(0)) && moves_rows(*r))))
      behind = r;
  }
  if (!behind) return std::nullopt;
  Value* x = behind->input(0);
  const SymbolTable& symbols = node.graph()->symbols();
  Patch patch;
  std::vector<PatchOperand> inputs;
  for (Value* v : node.inputs()) {
    if (v == behind->output(0)) {
      inputs.push_back(x);
    } else if (v->is_constant()) {
      std::optional<Tensor> c = constant_before(*v, *x, *behind->output(0));
      if (!c) return std::nullopt;
      inputs.push_back(patch.constant(std::move(*c)));
    } else {
      const auto y =
          same_shape(v, node.output(0)) ? reshape(patch, v, *x->type.shape, symbols) : std::nullopt;
      if (!y) return std::nullopt;
      inputs.push_back(*y);
    }
  }
  const PatchOperand y = patch.node(node.domain, node.op, std::move(inputs), node.attributes, 1);
  const auto out = reshape(patch, y, *node.output(0)->type.shape, symbols);
  if (!out) return std::nullopt;
  patch.replace(node.output(0), *out);
  return patch;
}

bool sink_all_reshapes(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= sink_all_reshapes(*inner, context);
    if (context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = sink_reshape(node))
      changed |= apply_patch(*patch, node, "f(reshape(x)) => reshape(f(x))", context);
  }
  return changed;
}

bool run_eliminate_reshapes(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"reshape(x) => x of that shape", {"Reshape(x, s)"}, drop_reshape},
      {"reshape(reshape(x)) => reshape(x)", {"Reshape(Reshape(x, s), t)"}, merge_reshapes, true},
      {"squeeze, unsqueeze, flatten => reshape",
       {"Squeeze(x, ..)", "Unsqueeze(x, a)", "Flatten(x)"},
       canonical_reshape},
      {"reshape to -1 or 0 => reshape to the sizes", {"Reshape(x, s)"}, known_shape},
  });
  bool changed = rules.apply(graph, context);
  while (sink_all_reshapes(graph, context)) {
    rules.apply(graph, context);
    changed = true;
  }
  return changed;
}

}  // namespace

Pass eliminate_reshapes() {
  return {"eliminate_reshapes",
          "Squeeze, Unsqueeze and Flatten become Reshape; chains of reshapes become one or none.",
          run_eliminate_reshapes};
}

}  // namespace wootz
