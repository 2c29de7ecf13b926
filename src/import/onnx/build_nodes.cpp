// SPDX-License-Identifier: Apache-2.0
// Nodes and their attributes.
#include "import/onnx/attributes.h"
#include "import/onnx/graph_builder.h"
#include "import/onnx/node_order.h"
#include "ops/registry.h"

namespace wootz::onnx {
namespace {

std::string op_name(const NodeView& view) {
  const std::string_view domain = canonical_domain(view.domain);
  return (domain.empty() ? "" : std::string(domain) + ".") + std::string(view.op);
}

void trim(std::vector<Value*>& values) {
  while (!values.empty() && !values.back()) values.pop_back();
}

}  // namespace

void GraphBuilder::add_nodes(std::span<const NodeView> nodes, Scope& scope) {
  if (scope.call) {
    const bool was_within = inlined_nodes_ <= kMaxInlinedNodes;
    inlined_nodes_ += static_cast<int64_t>(nodes.size());
    if (inlined_nodes_ > kMaxInlinedNodes) {
      if (was_within) problem(scope.prefix, too_many_inlined());
      return;
    }
  }
  const NodeOrder order =
      order_nodes(nodes, [&](std::string_view name) { return scope.find(name) != nullptr; });
  std::string prefix = scope.prefix.empty() ? "" : scope.prefix + "/";
  const auto id_of = [&](size_t i) {
    return prefix + (nodes[i].name.empty() ? std::string(nodes[i].op) + "#" + std::to_string(i)
                                           : std::string(nodes[i].name));
  };
  if (!order.in_cycle.empty()) {
    std::string text = "expected nodes without a cycle, found " + std::to_string(order.in_cycle.size()) +
                       " that wait for each other: ";
    for (size_t k = 0; k < std::min<size_t>(order.in_cycle.size(), 4); ++k)
      text += (k ? ", " : "") + quote(id_of(order.in_cycle[k]));
    problem(scope.prefix.empty() ? "graph" : scope.prefix, text + (order.in_cycle.size() > 4 ? ", ..." : ""));
    for (const size_t i : order.in_cycle)
      for (const std::string_view name : nodes[i].outputs)
        if (!name.empty() && !scope.values.contains(name)) placeholder(name, scope);
  }
  for (const size_t i : order.sorted) add_node(nodes[i], id_of(i), scope);
}

void GraphBuilder::add_node(const NodeView& view, const std::string& id, Scope& scope) {
  const std::string where = op_name(view) + " " + quote(id);
  if (view.op.empty()) return problem("node " + quote(id), "expected an op_type, found none");
  if (!is_utf8(view.name) || !is_utf8(view.op) || !is_utf8(view.domain))
    problem(where, "expected a name in UTF-8, found other bytes");
  if (const FunctionView* function = find_function(view))
    return inline_function(*function, view, where, id, scope);
  if (view.op == "Constant" && canonical_domain(view.domain).empty()) return add_constant(view, where, scope);

  const size_t before = problems_.count();
  const int64_t opset = opset_of(canonical_domain(view.domain), where, scope);
  const OpDef* def = OpRegistry::global().find(view.domain, view.op);
  if (!def) problems_.add_unknown_op(canonical_domain(view.domain), view.op, quote(id));
  if (def && def->domain.empty() && opset < def->since)
    problem(where, "expected opset " + std::to_string(def->since) + " or newer for this operator, found " +
                       std::to_string(opset));
  std::vector<Value*> inputs = find_inputs(view, where, scope);
  trim(inputs);
  Node* node = scope.graph->add_node(std::string(canonical_domain(view.domain)), std::string(view.op),
                                     std::move(inputs));
  node->name = std::string(view.name);
  node->origins = {id};
  built_.opsets[node] = opset;
  add_attributes(view, where, id, scope, node);
  for (size_t i = 0; i < view.outputs.size(); ++i) {
    const std::string_view name = view.outputs[i];
    if (name.empty()) continue;
    Value* value = scope.graph->add_value(value_name(name, scope), {});
    node->adopt_output(i, value);
    define(name, value, where, scope);
  }
  if (problems_.count() != before)
    for (Value* output : node->outputs()) built_.broken.insert(output);
}

std::vector<Value*> GraphBuilder::find_inputs(const NodeView& view, const std::string& where, Scope& scope) {
  std::vector<Value*> inputs;
  for (const std::string_view name : view.inputs) {
    Value* const* found = name.empty() ? nullptr : scope.find(name);
    if (!name.empty() && !found) {
      problem(where, "expected an input, initializer or node that gives " + quote(name) + ", found none");
      inputs.push_back(placeholder(name, scope));
    } else {
      inputs.push_back(found ? *found : nullptr);
    }
  }
  return inputs;
}

int64_t GraphBuilder::opset_of(std::string_view domain, const std::string& where, const Scope& scope) {
  const auto it = scope.opsets->find(domain);
  if (it != scope.opsets->end()) return it->second;
  if (domain.empty() && !std::exchange(misses_opset_, true))
    problem(where, "expected an opset_import for ai.onnx, found none");
  // Files of older exporters leave out the imports of vendor domains, all of which are at version 1.
  return 1;
}

void GraphBuilder::add_constant(const NodeView& view, const std::string& where, Scope& scope) {
  if (view.outputs.size() != 1 || view.outputs[0].empty() || !view.inputs.empty())
    return problem(where, "expected no inputs and one output, found " + std::to_string(view.inputs.size()) +
                              " and " + std::to_string(view.outputs.size()));
  const std::string_view name = view.outputs[0];
  std::optional<Tensor> tensor;
  try {
    for (const AttributeView& attribute : view.attributes) {
      const auto bound = bind(attribute, scope, where);
      if (!bound) continue;
      if (tensor)
        throw Error(ErrorKind::kInvalidModel, "expected one attribute with the value, found several");
      tensor = read_constant(attribute.name, read_attribute_once(*bound->view, scope));
    }
    if (!tensor) throw Error(ErrorKind::kInvalidModel, "expected an attribute with the value, found none");
  } catch (const Error& error) {
    problems_.add(where, error);
  }
  Value* value = tensor ? scope.graph->add_constant(value_name(name, scope), *std::move(tensor))
                        : scope.graph->add_value(value_name(name, scope), {});
  if (!value->constant) built_.broken.insert(value);
  define(name, value, where, scope);
}

void GraphBuilder::add_attributes(const NodeView& view, const std::string& where, const std::string& id,
                                  const Scope& scope, Node* node) {
  for (const AttributeView& attribute : view.attributes) {
    const std::string here = where + ": attribute " + quote(attribute.name);
    if (attribute.name.empty()) problem(where, "expected a name for each attribute, found one without");
    if (node->attributes.contains(attribute.name)) problem(here, "expected it once, found it twice");
    const auto bound = bind(attribute, scope, here);
    if (!bound) continue;
    try {
      const AttributeKind kind = bound->view->kind;
      if (kind != AttributeKind::kGraph && kind != AttributeKind::kGraphs) {
        node->attributes.set(std::string(attribute.name), read_attribute_once(*bound->view, scope));
        continue;
      }
      if (scope.depth >= kMaxDepth) {
        problem(here,
                "expected functions and graphs at most " + std::to_string(kMaxDepth) + " deep, found more");
        continue;
      }
      std::vector<GraphPtr> graphs;
      for (const GraphView& graph : bound->view->graphs)
        graphs.push_back(build_subgraph(graph, *bound->scope, scope.graph, id));
      if (kind == AttributeKind::kGraphs)
        node->attributes.set(std::string(attribute.name), std::move(graphs));
      else if (graphs.size() == 1)
        node->attributes.set(std::string(attribute.name), std::move(graphs[0]));
      else
        problem(here, "expected one graph, found " + std::to_string(graphs.size()));
    } catch (const Error& error) {
      problems_.add(here, error);
    }
  }
}

Attribute GraphBuilder::read_attribute_once(const AttributeView& view, const Scope& scope) {
  if (!scope.call) return read_attribute_value(view, tensors_, types_);
  const auto it = attributes_.find(&view);
  if (it != attributes_.end()) return it->second;
  return attributes_.emplace(&view, read_attribute_value(view, tensors_, types_)).first->second;
}

std::optional<GraphBuilder::BoundAttribute> GraphBuilder::bind(const AttributeView& attribute,
                                                               const Scope& scope, const std::string& where) {
  BoundAttribute bound{&attribute, &scope};
  while (!bound.view->reference.empty()) {
    const FunctionCall* call = bound.scope->call;
    const std::string_view name = bound.view->reference;
    if (!call) {
      problem(where, "expected a value, found a reference to " + quote(name) + " outside of a function");
      return std::nullopt;
    }
    const auto find = [&](const std::vector<AttributeView>& list) -> const AttributeView* {
      for (const AttributeView& candidate : list)
        if (candidate.name == name) return &candidate;
      return nullptr;
    };
    if (const AttributeView* given = find(call->node->attributes)) {
      bound = {given, call->caller};
      continue;
    }
    const AttributeView* fallback = find(call->function->attribute_defaults);
    if (!fallback) return std::nullopt;  // not given, no default: the node does without
    bound.view = fallback;
    if (fallback->reference.empty()) break;
    problem(where, "expected a value as default of " + quote(name) + ", found a reference");
    return std::nullopt;
  }
  if (bound.view != &attribute && attribute.kind != AttributeKind::kUndefined &&
      attribute.kind != bound.view->kind) {
    problem(where, "expected a value of kind " + std::string(attribute_kind_name(attribute.kind)) +
                       ", found " + std::string(attribute_kind_name(bound.view->kind)));
    return std::nullopt;
  }
  return bound;
}

}  // namespace wootz::onnx
