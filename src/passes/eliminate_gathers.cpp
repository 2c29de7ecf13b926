// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_gathers.h"

#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

/// A value whose elements are their own index along one axis: 0, 1, ... size - 1.
struct Running {
  size_t axis = 0;
  Dim size;
};

std::optional<Running> running_constant(const Tensor& t) {
  if (!is_integer(t.dtype()) || t.size() < 2) return std::nullopt;
  Running running{0, Dim(t.size())};
  for (size_t i = 0; i < t.dims().size(); ++i)
    if (t.dims()[i] == t.size())
      running.axis = i;
    else if (t.dims()[i] != 1)
      return std::nullopt;
  int64_t expected = 0;
  for (int64_t index : t.to_int64s())
    if (index != expected++) return std::nullopt;
  return running;
}

std::optional<Running> running_index(const Value* v, int depth = 0) {
  if (v && v->is_constant()) return running_constant(*v->constant);
  const Node* n = v ? v->producer() : nullptr;
  if (!n || depth > 8 || !v->type.has_rank()) return std::nullopt;
  if (n->is("Range")) {
    const auto limit = known_dims(n->input(1));
    if (!limit || limit->size() != 1 || !is_number(n->input(0), 0) || !is_number(n->input(2), 1))
      return std::nullopt;
    return Running{0, v->graph()->symbols().resolve((*limit)[0])};
  }
  std::optional<Running> inner = running_index(n->input(0), depth + 1);
  if (!inner || n->is("Cast")) return inner;
  const Value* x = n->input(0);
  if (n->is("Reshape") || n->is("Unsqueeze")) {
    const auto map = unit_axes_map(*x, *v);
    if (!map) return std::nullopt;
    for (size_t i = 0; i < map->size(); ++i)
      if ((*map)[i] == static_cast<int>(inner->axis)) return Running{i, inner->size};
    return std::nullopt;
  }
  if (!n->is("Expand")) return std::nullopt;
  inner->axis += v->type.shape->size() - x->type.shape->size();
  return v->graph()->symbols().equal((*v->type.shape)[inner->axis], inner->size) ? inner : std::nullopt;
}

std::optional<Patch> gather_all(const Match& m, PassContext&) {
  Value *data = m.value("x"), *out = m.root->output(0);
  const Node& indices = *m.node("indices");
  if (m.root->attributes.get<int64_t>("batch_dims", 0) != 0 || !out->type.has_rank()) return std::nullopt;
  const Shape& shape = *out->type.shape;
  const auto parts = static_cast<int64_t>(indices.inputs().size());
  const int64_t axis = indices.attributes.get<int64_t>("axis", -1);
  if (!has_rank(data, parts) || (axis != -1 && axis != static_cast<int64_t>(shape.size())))
    return std::nullopt;
  const SymbolTable& symbols = out->graph()->symbols();
  // Each index runs along an axis of its own, in the data's order; the other axes of the result have size 1.
  std::vector<char> runs(shape.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < size_t(parts); ++i) {
    const auto running = running_index(indices.input(i));
    if (!running || running->axis < next || running->axis >= shape.size()) return std::nullopt;
    if (!symbols.equal(running->size, (*data->type.shape)[i])) return std::nullopt;
    runs[running->axis] = 1;
    next = running->axis + 1;
  }
  for (size_t i = 0; i < shape.size(); ++i)
    if (!runs[i] && !symbols.resolve(shape[i]).is(1)) return std::nullopt;
  Patch patch;
  const auto y = reshape(patch, data, shape, symbols);
  if (!y) return std::nullopt;
  patch.replace(out, *y);
  return patch;
}

bool run_eliminate_gathers(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"gather_nd(x, every index) => x", {"GatherND(x, indices:Concat(..))"}, gather_all, true},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass eliminate_gathers() {
  return {"eliminate_gathers", "A GatherND by running indices is the data under another shape.",
          run_eliminate_gathers};
}

}  // namespace wootz
