// SPDX-License-Identifier: Apache-2.0
// FlexAttention (ai.onnx.preview): y = prob_mod(softmax(score_mod(scale * q k^T))) v, key heads shared by
// groups of query heads. It becomes standard nodes, the bodies' own among them.
#include <cmath>
#include <functional>
#include <map>

#include "ops/element_type.h"
#include "ops/expansion.h"
#include "ops/registry.h"

namespace wootz::op_flex_attention {
namespace {

/// The body's nodes before the node that is replaced; what its one output becomes for this argument.
Value* inlined(Expansion& e, const Graph& body, Value* argument, Graph& graph, Node* before) {
  if (body.inputs().size() != 1 || body.outputs().size() != 1)
    e.fail("expected bodies of one input and one output");
  std::map<const Value*, Value*> twins{{body.inputs()[0], argument}};
  const std::function<Value*(Value*)> twin = [&](Value* value) -> Value* {
    if (!value || value->graph() != &body) return value;
    if (const auto it = twins.find(value); it != twins.end()) return it->second;
    Value* made = value->constant ? e.constant("flex", *value->constant)
                                  : graph.add_value(graph.unique_name(value->name), value->type);
    return twins[value] = made;
  };
  for (const auto& node : body.nodes()) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(twin(input));
    Node* made = graph.add_node(node->domain, node->op, std::move(inputs), before);
    made->name = node->name;
    made->attributes = node->attributes;
    for (auto& [name, attribute] : made->attributes)
      if (auto* inner = std::get_if<GraphPtr>(&attribute))
        *inner = (*inner)->clone(graph.shared_symbols(), &graph, twin);
    for (size_t i = 0; i < node->outputs().size(); ++i)
      if (node->output(i)) made->adopt_output(i, twin(node->output(i)));
  }
  return twin(body.outputs()[0]);
}

/// [b, heads, s, d] with each head repeated `group` times.
Value* repeat_heads(Expansion& e, Value* x, int64_t heads, int64_t group) {
  if (group == 1) return x;
  x = e.add("Unsqueeze", {x, e.ints({2})});
  x = e.add("Expand", {x, e.ints({1, 1, group, 1, 1})});
  // Dims 1 and 2 become one; the others stay as they are.
  Value* shape = e.add("Concat",
                       {e.add("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}}),
                        e.ints({heads * group}), e.add("Shape", {x}, {{"start", int64_t{3}}})},
                       {{"axis", int64_t{0}}});
  return e.add("Reshape", {x, shape});
}

int64_t fixed(Expansion& e, const Value* value, size_t axis, const char* what) {
  if (!value->type.has_rank() || value->type.rank() != 4) e.fail("expected Q, K and V of rank 4");
  const Dim dim = value->graph()->symbols().resolve((*value->type.shape)[axis]);
  if (!dim.is_constant()) e.fail(std::string("expected a fixed ") + what);
  return dim.value();
}

void canonicalize(CanonicalizeContext& c) {
  Expansion e(c);
  Value *q = e.require(0, "Q"), *k = e.require(1, "K"), *v = e.require(2, "V");
  const int64_t q_heads = fixed(e, q, 1, "number of heads"), kv_heads = fixed(e, k, 1, "number of heads");
  if (kv_heads <= 0 || q_heads % kv_heads != 0)
    e.fail("expected key heads whose number divides that of query heads");
  const DType type = e.dtype(q);
  const auto precision =
      element_type(e.attributes().get<int64_t>(
                       "softmax_precision",
                       static_cast<int64_t>(type == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32)),
                   "softmax_precision");
  double scale = e.attributes().get<float>("scale", 0);
  if (!e.attributes().contains("scale"))
    scale = 1 / std::sqrt(static_cast<double>(fixed(e, q, 3, "head size")));
  k = repeat_heads(e, k, kv_heads, q_heads / kv_heads);
  v = repeat_heads(e, v, kv_heads, q_heads / kv_heads);
  Value* scores = e.add("MatMul", {q, e.add("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}})});
  scores = e.add("Mul", {scores, e.scalar(scale, type)});
  const auto cast = [&](Value* x, DType to) {
    return precision == type ? x : e.add("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
  };
  const auto modify = [&](Value* x, const char* name) {
    if (!e.attributes().contains(name)) return x;
    return inlined(e, *e.attributes().require<GraphPtr>(name), x, c.graph(), &c.node());
  };
  scores = modify(cast(scores, precision), "score_mod");
  Value* probabilities = modify(e.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), "prob_mod");
  e.result("MatMul", {cast(probabilities, type), v});
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "ai.onnx.preview";
  d.name = "FlexAttention";
  d.doc =
      "y = prob_mod(softmax(score_mod(scale * q k^T))) v with bodies of the model's own; becomes standard "
      "nodes.";
  d.min_inputs = d.max_inputs = 3;
  for (const char* name : {"prob_mod", "scale", "score_mod", "softmax_precision"})
    d.attributes.push_back({name, std::nullopt});
  d.canonicalize = canonicalize;
  registry.add(std::move(d));
}

}  // namespace wootz::op_flex_attention
