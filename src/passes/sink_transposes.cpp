// SPDX-License-Identifier: Apache-2.0
#include "passes/sink_transposes.h"

#include <algorithm>

#include "ops/registry.h"
#include "passes/pattern/constants.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

Ints stated_perm(const Node& transpose) { return transpose.attributes.get<Ints>("perm", {}); }

bool has_pointwise_reader(const Value& v) {
  return std::any_of(v.uses().begin(), v.uses().end(), [](const Use& u) {
    const OpDef* def = OpRegistry::global().find(*u.node);
    return def && def->fusion == FusionKind::kPointwise;
  });
}

/// The product of what the transpose `t` reads, and its bias; then the transpose.
std::optional<Patch> behind_product(const Match& m, PassContext&) {
  const Ints perm = stated_perm(*m.node("t"));
  const Value *w = m.value("w"), *b = m.value("b");
  Value* out = m.root->output(0);
  if (perm.size() < 3 || perm.back() != static_cast<int64_t>(perm.size()) - 1 || !has_rank(w, 2))
    return std::nullopt;
  if (!has_rank(out, static_cast<int64_t>(perm.size()))) return std::nullopt;
  // A bias joins the product, so it goes along; what is no bias stays where it is.
  const Node* product = b ? m.node("product") : m.root;
  if (b ? !is_read_once(product->output(0)) : has_pointwise_reader(*out)) return std::nullopt;
  const int64_t columns = w->constant->dims()[1], rank = static_cast<int64_t>(perm.size());
  if (b && !values_along(b, rank, rank - 1, columns)) return std::nullopt;
  Patch patch;
  PatchOperand y = patch.node("MatMul", {m.value("x"), m.value("w")});
  if (b) y = patch.node("Add", {y, m.value("b")});
  patch.replace(out, transpose(patch, y, perm));
  return patch;
}

/// PyTorch's MultiheadAttention: [b,h,s,d] is gathered as [s b, h d] for the projection, whose result becomes
/// [b,s,n] again.
std::optional<Patch> project_batch_first(const Match& m, PassContext&) {
  const Node& gemm = *m.node("gemm");
  const Value *heads = m.node("heads")->output(0), *rows = m.node("rows")->output(0),
              *split = m.node("split")->output(0), *c = gemm.input(2);
  if (stated_perm(*m.root) != Ints{1, 0, 2} || stated_perm(*m.node("heads")) != Ints{2, 0, 1, 3})
    return std::nullopt;
  if (!has_rank(heads, 4) || !has_rank(rows, 2) || !has_rank(split, 3)) return std::nullopt;
  if (gemm.attributes.get<int64_t>("transA", 0) != 0) return std::nullopt;
  if (c && !(c->type.has_rank() && (c->type.rank() < 2 || (*c->type.shape)[0].is(1)))) return std::nullopt;
  const SymbolTable& symbols = heads->graph()->symbols();
  const Shape &h = *heads->type.shape, &r = *rows->type.shape, &s = *split->type.shape;
  const Dim size = symbols.resolve(h[3]);
  if (!size.is_constant() || !symbols.equal(h[0], s[0]) || !symbols.equal(h[1], s[1]) ||
      !symbols.equal(h[2] * size.value(), r[1]))
    return std::nullopt;
  Patch patch;
  const PatchOperand swapped = transpose(patch, m.value("y"), {0, 2, 1, 3});
  const auto gathered = reshape(patch, swapped, r, symbols);
  if (!gathered) return std::nullopt;
  std::vector<PatchOperand> inputs(gemm.inputs().begin(), gemm.inputs().end());
  inputs[0] = *gathered;
  const PatchOperand product = patch.node("Gemm", std::move(inputs), gemm.attributes);
  const auto out = reshape(patch, product, *m.root->output(0)->type.shape, symbols);
  if (!out) return std::nullopt;
  patch.replace(m.root->output(0), *out);
  return patch;
}

/// The same network's way to its heads: [.., s, b, h d] as [s, b h, d], then [b h, s, d], then [b, h, s, d].
/// In one step no axis holds batch and heads, which lie apart.
std::optional<Patch> heads_apart(const Match& m, PassContext&) {
  const Value *merged = m.node("merged")->output(0), *out = m.root->output(0);
  if (stated_perm(*m.node("swap")) != Ints{1, 0, 2} || !has_rank(merged, 3) || !has_rank(out, 4))
    return std::nullopt;
  const SymbolTable& symbols = out->graph()->symbols();
  const Shape &from = *merged->type.shape, &to = *out->type.shape;
  const Dim heads = symbols.resolve(to[1]);
  if (!heads.is_constant() || !symbols.equal(to[0] * heads.value(), from[1]) ||
      !symbols.equal(to[2], from[0]) || !symbols.equal(to[3], from[2]))
    return std::nullopt;
  Patch patch;
  const auto apart = reshape(patch, m.value("x"), {to[2], to[0], to[1], to[3]}, symbols);
  if (!apart) return std::nullopt;
  patch.replace(m.root->output(0), transpose(patch, *apart, {1, 2, 0, 3}));
  return patch;
}

/// Rows stay rows: a norm over the last axis may see the others under any dims. Behind it the transpose moves
/// its rows, so that the norm's kernel writes them where they are wanted (windows).
std::optional<Patch> norm_under_new_dims(const Match& m, PassContext&) {
  const Node &norm = *m.node("norm"), &moved = *m.node("moved");
  const Value *x = norm.input(0), *to = moved.output(0);
  const Ints perm = stated_perm(*m.root);
  if (!x->type.has_rank() || !to->type.has_rank() || x->type.rank() < 2 || to->type.rank() < 2)
    return std::nullopt;
  const int64_t rank = x->type.rank(), axis = norm.attributes.get<int64_t>("axis", -1);
  const SymbolTable& symbols = x->graph()->symbols();
  const bool rows_stay = (axis == -1 || axis == rank - 1) &&
                         symbols.equal(x->type.shape->back(), to->type.shape->back()) && !perm.empty() &&
                         perm.back() == static_cast<int64_t>(perm.size()) - 1;
  for (size_t i = 1; i < norm.inputs().size(); ++i)
    if (norm.input(i) && !has_rank(norm.input(i), 1)) return std::nullopt;
  for (size_t i = 1; i < norm.outputs().size(); ++i)
    if (norm.output(i) && !norm.output(i)->uses().empty()) return std::nullopt;
  if (!rows_stay) return std::nullopt;
  Patch patch;
  const auto rows = reshape(patch, norm.input(0), *to->type.shape, symbols);
  if (!rows) return std::nullopt;
  std::vector<PatchOperand> inputs(norm.inputs().begin(), norm.inputs().end());
  inputs[0] = *rows;
  Attributes attributes = norm.attributes;
  attributes.set("axis", int64_t(-1));
  const PatchOperand y = patch.node("LayerNormalization", std::move(inputs), std::move(attributes));
  patch.replace(m.root->output(0), transpose(patch, y, perm));
  return patch;
}

/// A function of each element joins the convolution when it comes before the movements (detection heads).
std::optional<Patch> function_before_movements(const Match& m, PassContext&) {
  const Node &split = *m.node("split"), &moved = *m.node("moved");
  const Value *x = split.input(0), *out = m.root->output(0);
  if (!x->type.has_rank() || !same_shape(moved.output(0), out)) return std::nullopt;
  Patch patch;
  PatchOperand y = patch.node(m.root->op, {m.node("main")->output(0)}, m.root->attributes);
  if (x != m.node("main")->output(0)) y = transpose(patch, y, stated_perm(*x->producer()));
  const PatchOperand parts = patch.node("Reshape", {y, split.input(1)}, split.attributes);
  patch.replace(m.root->output(0), transpose(patch, parts, stated_perm(moved)));
  return patch;
}

std::vector<std::string> functions_of_moved_convolutions() {
  std::vector<std::string> patterns;
  for (const char* op : {"Sigmoid", "Tanh", "Relu", "Exp", "Softplus"})
    for (const char* channels : {"main:Conv(..)", "Transpose(main:Conv(..))"})
      patterns.push_back(std::string(op) + "(moved:Transpose(split:Reshape(" + channels + ", s)))");
  return patterns;
}

bool run_sink_transposes(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"transpose(x) w + b => transpose(x w + b)",
       {"Add(product:MatMul(t:Transpose(x), #w), #b)", "MatMul(t:Transpose(x), #w)"},
       behind_product,
       true},
      {"heads gathered sequence first => batch first",
       {"Transpose(split:Reshape(gemm:Gemm(rows:Reshape(heads:Transpose(y), s), ..), t))"},
       project_batch_first},
      {"heads split sequence first => heads apart from the batch",
       {"Reshape(swap:Transpose(merged:Reshape(x, s)), t)"},
       heads_apart},
      {"transpose(reshape(norm(x))) => transpose(norm(reshape(x)))",
       {"Transpose(moved:Reshape(norm:LayerNormalization(..), s))"},
       norm_under_new_dims},
      {"f(transpose(reshape(conv(x)))) => transpose(reshape(f(conv(x))))", functions_of_moved_convolutions(),
       function_before_movements},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass sink_transposes() {
  return {
      "sink_transposes",
      "Transposes of leading axes move behind products along the last one, those of heads behind functions.",
      run_sink_transposes};
}

}  // namespace wootz
