// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_transposes.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

constexpr int kMaxLookahead = 16;

std::optional<Ints> perm_of(const Node& transpose) {
  const Value* x = transpose.input(0);
  if (!x->type.has_rank()) return std::nullopt;
  Ints perm = transpose.attributes.get<Ints>("perm", {});
  if (perm.empty()) {
    perm.resize(size_t(x->type.rank()));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

Ints compose(const Ints& first, const Ints& second) {
  Ints both;
  for (int64_t axis : second) both.push_back(first[size_t(axis)]);
  return both;
}

Ints inverse(const Ints& perm) {
  Ints result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[size_t(perm[i])] = static_cast<int64_t>(i);
  return result;
}

bool is_identity(const Ints& perm) { return std::is_sorted(perm.begin(), perm.end()); }

std::optional<Patch> drop_transpose(const Match& m, PassContext&) {
  const auto perm = perm_of(*m.root);
  if (!perm || !is_identity(*perm)) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), m.value("x"));
  return patch;
}

std::optional<Patch> merge_transposes(const Match& m, PassContext&) {
  const Node& inner = *m.node("inner");
  const auto p = perm_of(inner), q = perm_of(*m.root);
  if (!p || !q) return std::nullopt;
  const Ints both = compose(*p, *q);
  Patch patch;
  if (is_identity(both)) {
    patch.replace(m.root->output(0), m.value("x"));
  } else {
    if (!is_read_once(inner.output(0))) return std::nullopt;  // both would be computed
    patch.replace(m.root->output(0), transpose(patch, m.value("x"), both));
  }
  return patch;
}

/// Only axes of size 1 change places among the others: the elements keep their order.
std::optional<Patch> transpose_to_reshape(const Match& m, PassContext&) {
  const Value *x = m.value("x"), *out = m.root->output(0);
  const auto perm = perm_of(*m.root);
  if (!perm || !out->type.has_rank()) return std::nullopt;
  Ints moved;
  for (int64_t axis : *perm)
    if (!x->graph()->symbols().resolve((*x->type.shape)[size_t(axis)]).is(1)) moved.push_back(axis);
  if (!std::is_sorted(moved.begin(), moved.end())) return std::nullopt;
  Patch patch;
  const auto y = reshape(patch, m.value("x"), *out->type.shape, out->graph()->symbols());
  if (!y) return std::nullopt;
  patch.replace(m.root->output(0), *y);
  return patch;
}

/// PyTorch's exporter transposes the last two axes of a tensor of rank 4 under a merged batch axis.
std::optional<Patch> unmerge_batch(const Match& m, PassContext&) {
  Value *x = m.value("x"), *out = m.root->output(0);
  const Value* merged = m.node("inner")->input(0);
  const auto perm = perm_of(*m.node("inner"));
  if (!perm || *perm != Ints{0, 2, 1} || !has_rank(x, 4) || !has_rank(out, 4)) return std::nullopt;
  const SymbolTable& symbols = x->graph()->symbols();
  const Shape &a = *x->type.shape, &b = *out->type.shape, &c = *merged->type.shape;
  const bool same = symbols.equal(a[0], b[0]) && symbols.equal(a[1], b[1]) && symbols.equal(a[2], b[3]) &&
                    symbols.equal(a[3], b[2]) && symbols.equal(a[2], c[1]) && symbols.equal(a[3], c[2]);
  if (!same) return std::nullopt;
  Patch patch;
  patch.replace(out, transpose(patch, x, {0, 1, 3, 2}));
  return patch;
}

/// transpose(reshape(transpose(x))) where the outer one swaps the last two axes and the reshape splits the
/// first: the swap moves in front of the reshape, to the inner transpose.
std::optional<Patch> swap_before_split(const Match& m, PassContext&) {
  const Value *x = m.node("inner")->output(0), *split = m.node("split")->output(0);
  const auto perm = perm_of(*m.root);
  if (!perm || *perm != Ints{0, 1, 3, 2} || !has_rank(x, 3) || !has_rank(split, 4)) return std::nullopt;
  const SymbolTable& symbols = x->graph()->symbols();
  const Shape &a = *x->type.shape, &b = *split->type.shape;
  if (!symbols.equal(a[1], b[2]) || !symbols.equal(a[2], b[3])) return std::nullopt;
  Patch patch;
  const PatchOperand swapped = transpose(patch, m.node("inner")->output(0), {0, 2, 1});
  const auto y = reshape(patch, swapped, *m.root->output(0)->type.shape, symbols);
  if (!y) return std::nullopt;
  patch.replace(m.root->output(0), *y);
  return patch;
}

bool is_ranked_elementwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise && node.outputs().size() == 1 && node.output(0) &&
         node.output(0)->type.has_rank() && node.op != "Clip";
}

/// A convolution, or a function of its result.
bool follows_convolution(const Value* v) {
  const Node* n = v->producer();
  if (n && is_ranked_elementwise(*n) && n->inputs().size() == 1) n = n->input(0)->producer();
  return n && n->is("Conv");
}

/// transpose(split channels(x)) where both parts go last together (detection heads): the channels move before
/// they are split, which in channels-last layout moves nothing. The same where only the inner part goes last
/// (heads with anchors), behind convolutions; the outer part goes back in front.
std::optional<Patch> channels_last_before_split(const Match& m, PassContext&) {
  const Value *x = m.value("x"), *split = m.node("split")->output(0);
  const auto perm = perm_of(*m.root);
  if (!perm || !x->type.has_rank() || x->type.rank() < 3 || !has_rank(split, x->type.rank() + 1) ||
      !is_read_once(split))
    return std::nullopt;
  const int64_t rank = x->type.rank();
  const SymbolTable& symbols = x->graph()->symbols();
  const Shape &a = *x->type.shape, &b = *split->type.shape;
  Ints parts_last{0}, part_last{0, 1}, channels_last{0}, part_first{0, rank - 1};
  Shape parts{b[0]};
  for (int64_t i = 2; i < rank; ++i) {
    parts_last.push_back(i + 1), part_last.push_back(i + 1), channels_last.push_back(i);
    part_first.push_back(i - 1), parts.push_back(b[static_cast<size_t>(i + 1)]);
  }
  parts_last.insert(parts_last.end(), {1, 2}), part_last.push_back(2), channels_last.push_back(1);
  part_first.push_back(rank), parts.insert(parts.end(), {b[1], b[2]});
  const bool both = *perm == parts_last;
  if (!both && (*perm != part_last || !follows_convolution(x))) return std::nullopt;
  const Dim part = symbols.resolve(b[2]);
  bool same = part.is_constant() && symbols.equal(a[0], b[0]) && symbols.equal(a[1], b[1] * part.value());
  for (size_t i = 2; i < a.size(); ++i) same = same && symbols.equal(a[i], b[i + 1]);
  if (!same) return std::nullopt;
  Patch patch;
  const PatchOperand moved = transpose(patch, m.value("x"), channels_last);
  auto y = reshape(patch, moved, parts, symbols);
  if (!y) return std::nullopt;
  if (!both) y = transpose(patch, *y, part_first);
  patch.replace(m.root->output(0), *y);
  return patch;
}

/// A constant operand as it must be before a transpose by `perm` that used to stand in front of its reader.
std::optional<Tensor> constant_before(const Value& constant, const Ints& perm) {
  const Tensor& t = *constant.constant;
  if (t.size() == 1 && t.rank() <= static_cast<int64_t>(perm.size())) return t;
  Dims dims(perm.size() - std::min(perm.size(), t.dims().size()), 1);
  if (t.dims().size() > perm.size()) return std::nullopt;
  dims.insert(dims.end(), t.dims().begin(), t.dims().end());
  Graph scratch;
  Value* x = scratch.add_constant("x", t.reshaped(dims));
  Node* node = scratch.add_node("Transpose", {x});
  node->attributes.set("perm", inverse(perm));
  node->add_output("y", Type::tensor(t.dtype()));
  const Datum datum(*x->constant);
  const Datum* input = &datum;
  return evaluate_node(*node, {&input, 1})[0].tensor;
}

/// Whether what reads `value` undoes a transpose by `perm`: an inverse transpose, directly or behind
/// pointwise nodes whose other operands are constants, or a pointwise node with another operand transposed
/// alike.
bool leads_to_inverse(const Value* value, const Ints& perm) {
  for (int i = 0; i < kMaxLookahead; ++i) {
    if (value->graph()->is_output(value) || value->uses().empty()) return false;
    const bool all_inverse = std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& u) {
      const auto q = u.node->is("Transpose") ? perm_of(*u.node) : std::nullopt;
      return q && q->size() == perm.size() && is_identity(compose(perm, *q));
    });
    if (all_inverse) return true;
    if (value->uses().size() != 1) return false;
    const Node& reader = *value->uses()[0].node;
    if (reader.graph() != value->graph() || !is_ranked_elementwise(reader) ||
        !has_rank(reader.output(0), int64_t(perm.size())))
      return false;
    for (const Value* other : reader.inputs()) {
      if (!other || other == value || other->is_constant()) continue;
      const Node* t = produced_by(other, "Transpose");
      return t && perm_of(*t) == perm && is_read_once(other);
    }
    value = reader.output(0);
  }
  return false;
}

/// A matrix product, or pointwise nodes behind one that nothing else reads.
bool follows_matmul(const Node* node, int depth = 0) {
  if (!node || depth > kMaxLookahead) return false;
  if (node->is("MatMul")) return true;
  if (!is_ranked_elementwise(*node)) return false;
  return std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value* v) {
    return v && v->producer() && is_read_once(v) && follows_matmul(v->producer(), depth + 1);
  });
}

/// f(transpose(x), y) => transpose(f(x, inverse transpose(y))) for a transpose that moves channels first
/// behind a matrix product: f joins the product, and in channels-last layout both transposes move nothing.
std::optional<Patch> sink_behind_matmul(Node& node) {
  if (!is_ranked_elementwise(node)) return std::nullopt;
  const Node* t = nullptr;
  for (const Value* v : node.inputs()) {
    const Node* p = v && is_read_once(v) ? produced_by(v, "Transpose") : nullptr;
    const Node* before = p ? p->input(0)->producer() : nullptr;
    if (!t && before && perm_of(*p) == Ints{0, 3, 1, 2} && is_read_once(p->input(0)) &&
        same_shape(v, node.output(0)) && follows_matmul(before))
      t = p;
  }
  if (!t) return std::nullopt;
  const Ints perm = *perm_of(*t);
  Patch patch;
  std::vector<PatchOperand> inputs;
  for (Value* v : node.inputs()) {
    if (!v) return std::nullopt;
    if (v == t->output(0)) {
      inputs.push_back(t->input(0));
    } else if (v->is_constant()) {
      std::optional<Tensor> c = constant_before(*v, perm);
      if (!c) return std::nullopt;
      inputs.push_back(patch.constant(std::move(*c)));
    } else {
      if (!same_shape(v, node.output(0))) return std::nullopt;
      inputs.push_back(transpose(patch, v, inverse(perm)));
    }
  }
  const PatchOperand y = patch.node(node.domain, node.op, std::move(inputs), node.attributes, 1);
  patch.replace(node.output(0), transpose(patch, y, perm));
  return patch;
}

/// f(transpose(x), constant) => transpose(f(x, constant')), where the transpose then meets its inverse;
/// f(transpose(x), transpose(y)) => transpose(f(x, y)).
std::optional<Patch> sink_transpose(Node& node) {
  if (!is_ranked_elementwise(node)) return std::nullopt;
  std::optional<Ints> perm;
  std::set<const Value*> transposed;
  for (const Value* v : node.inputs()) {
    if (!v) return std::nullopt;
    if (v->is_constant()) continue;
    const Node* t = produced_by(v, "Transpose");
    const auto p = t ? perm_of(*t) : std::nullopt;
    const bool only_here =
        std::all_of(v->uses().begin(), v->uses().end(), [&](const Use& u) { return u.node == &node; });
    if (!p || !only_here || v->graph()->is_output(v) || (perm && *perm != *p)) return std::nullopt;
    perm = p;
    transposed.insert(v);
  }
  if (!perm || !has_rank(node.output(0), static_cast<int64_t>(perm->size()))) return std::nullopt;
  if (transposed.size() == 1 && !leads_to_inverse(node.output(0), *perm)) return std::nullopt;
  Patch patch;
  std::vector<PatchOperand> inputs;
  for (const Value* v : node.inputs()) {
    if (!v->is_constant()) {
      inputs.push_back(v->producer()->input(0));
      continue;
    }
    std::optional<Tensor> c = constant_before(*v, *perm);
    if (!c) return std::nullopt;
    inputs.push_back(patch.constant(std::move(*c)));
  }
  const PatchOperand y = patch.node(node.domain, node.op, std::move(inputs), node.attributes, 1);
  patch.replace(node.output(0), transpose(patch, y, *perm));
  return patch;
}

bool sink_all_transposes(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= sink_all_transposes(*inner, context);
    if (context.exhausted() || !is_live(node)) continue;
    std::optional<Patch> patch = sink_transpose(node);
    if (!patch && context.target.prefers_channels_last) patch = sink_behind_matmul(node);
    if (patch) changed |= apply_patch(*patch, node, "f(transpose(x)) => transpose(f(x))", context);
  }
  return changed;
}

bool run_eliminate_transposes(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"transpose(x, identity) => x", {"Transpose(x)"}, drop_transpose},
      {"transpose(transpose(x)) => transpose(x)", {"Transpose(inner:Transpose(x))"}, merge_transposes, true},
      {"transpose under a merged batch => transpose",
       {"Reshape(inner:Transpose(Reshape(x, s)), t)"},
       unmerge_batch,
       true},
      {"swap behind a split batch => swap before it",
       {"Transpose(split:Reshape(inner:Transpose(x), s))"},
       swap_before_split},
      {"channels that are split and then go last => go last, then are split",
       {"Transpose(split:Reshape(x, s))"},
       channels_last_before_split},
      {"transpose of axes of size 1 => reshape", {"Transpose(x)"}, transpose_to_reshape},
  });
  bool changed = rules.apply(graph, context);
  while (sink_all_transposes(graph, context)) {
    rules.apply(graph, context);
    changed = true;
  }
  return changed;
}

}  // namespace

Pass eliminate_transposes() {
  return {"eliminate_transposes",
          "Transposes merge, cancel across pointwise operators and become reshapes where they can.",
          run_eliminate_transposes};
}

}  // namespace wootz
