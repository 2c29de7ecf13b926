// SPDX-License-Identifier: Apache-2.0
#include "passes/expand_einsum.h"

#include <algorithm>
#include <set>

#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

struct Equation {
  std::string a, b, out;
};

std::optional<Equation> parse(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || text.find('.') != std::string::npos)
    return std::nullopt;
  Equation e{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* s : {&e.a, &e.b, &e.out})
    if (s->find(',') != std::string::npos || std::set<char>(s->begin(), s->end()).size() != s->size())
      return std::nullopt;
  return e;
}

bool has(const std::string& s, char c) { return s.find(c) != std::string::npos; }

/// Indices by role, each in the order of the operand that has them (batch: of the output).
struct Roles {
  std::string batch, left, right, inner;
};

std::optional<Roles> roles_of(const Equation& e) {
  Roles r;
  for (char c : e.out) {
    if (has(e.a, c) && has(e.b, c))
      r.batch += c;
    else if (!has(e.a, c) && !has(e.b, c))
      return std::nullopt;
  }
  for (char c : e.a) {
    if (has(e.out, c))
      r.left += has(e.b, c) ? "" : std::string(1, c);
    else if (has(e.b, c))
      r.inner += c;
    else
      return std::nullopt;  // summed alone
  }
  for (char c : e.b) {
    if (has(e.out, c))
      r.right += has(e.a, c) ? "" : std::string(1, c);
    else if (!has(e.a, c))
      return std::nullopt;
  }
  if (r.inner.size() != 1 || r.left.size() > 1 || r.right.size() > 1) return std::nullopt;
  return r;
}

PatchOperand arrange(Patch& patch, PatchOperand x, const std::string& from, const std::string& to) {
  Ints perm;
  for (char c : to) perm.push_back(static_cast<int64_t>(from.find(c)));
  return std::is_sorted(perm.begin(), perm.end()) ? x : transpose(patch, x, perm);
}

PatchOperand unsqueeze(Patch& patch, PatchOperand x, int64_t axis) {
  return patch.node("Unsqueeze", {x, patch.constant(Tensor::int64s(std::vector<int64_t>{axis}))});
}

bool ranks_fit(const Match& m, const Equation& e) {
  return has_rank(m.value("a"), int64_t(e.a.size())) && has_rank(m.value("b"), int64_t(e.b.size()));
}

/// An index that both operands have and that is summed may not be 1 in one of them alone: Einsum repeats it.
bool inner_sizes_fit(const Match& m, const Equation& e, char inner) {
  const SymbolTable& symbols = m.root->graph()->symbols();
  const auto is_one = [&](const Value* v, const std::string& indices) {
    return symbols.resolve((*v->type.shape)[indices.find(inner)]).is(1);
  };
  return is_one(m.value("a"), e.a) == is_one(m.value("b"), e.b);
}

std::optional<Patch> expand(const Match& m, PassContext&) {
  const auto e = parse(m.root->attributes.get<std::string>("equation", ""));
  if (!e || !ranks_fit(m, *e) || !is_float_value(m.value("a"))) return std::nullopt;
  const auto r = roles_of(*e);
  if (!r || !inner_sizes_fit(m, *e, r->inner[0])) return std::nullopt;
  Patch patch;
  // MatMul of [batch, left, inner] and [batch, inner, right]; a missing index has size 1.
  PatchOperand a = arrange(patch, m.value("a"), e->a, r->batch + r->left + r->inner);
  PatchOperand b = arrange(patch, m.value("b"), e->b, r->batch + r->inner + r->right);
  const auto batch = static_cast<int64_t>(r->batch.size());
  if (r->left.empty()) a = unsqueeze(patch, a, batch);
  if (r->right.empty()) b = unsqueeze(patch, b, batch + 1);
  PatchOperand y = patch.node("MatMul", {a, b});
  std::vector<int64_t> dropped;
  if (r->left.empty()) dropped.push_back(batch);
  if (r->right.empty()) dropped.push_back(batch + 1);
  if (!dropped.empty()) y = patch.node("Squeeze", {y, patch.constant(Tensor::int64s(dropped))});
  y = arrange(patch, y, r->batch + r->left + r->right, e->out);
  patch.replace(m.root->output(0), y);
  return patch;
}

bool run_expand_einsum(Graph& graph, PassContext& context) {
  static const RuleSet rules({{"einsum(a, b) => transposes around matmul", {"Einsum(a, b)"}, expand}});
  return rules.apply(graph, context);
}

}  // namespace

Pass expand_einsum() {
  return {"expand_einsum", "Einsum with one contracted index becomes a MatMul.", run_expand_einsum};
}

}  // namespace wootz
