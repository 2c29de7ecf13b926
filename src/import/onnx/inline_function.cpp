// SPDX-License-Identifier: Apache-2.0
// Calls of a model's local functions become the nodes of their bodies.
#include <algorithm>

#include "import/onnx/graph_builder.h"

namespace wootz::onnx {
namespace {

bool is_recursive(const FunctionView& function, const FunctionCall* call) {
  for (; call; call = call->caller->call)
    if (call->function == &function) return true;
  return false;
}

}  // namespace

const FunctionView* GraphBuilder::find_function(const NodeView& view) const {
  const auto it = functions_.find({canonical_domain(view.domain), view.op, view.overload});
  return it == functions_.end() ? nullptr : it->second;
}

int64_t GraphBuilder::inlined_size(const FunctionView& function, int depth) {
  // Calls of itself and those too deep count as nothing here: inlining reports them.
  if (depth > kMaxDepth) return 0;
  const auto [size, is_new] = inlined_sizes_.try_emplace(&function, 0);
  if (!is_new) return size->second;
  return inlined_sizes_[&function] = inlined_size(function.nodes, 0, depth);
}

int64_t GraphBuilder::inlined_size(std::span<const NodeView> nodes, int64_t from, int depth) {
  int64_t total = from + static_cast<int64_t>(nodes.size());
  for (const NodeView& node : nodes) {
    if (total > kMaxInlinedNodes) return kMaxInlinedNodes + 1;
    if (const FunctionView* called = find_function(node)) total += inlined_size(*called, depth + 1);
    for (const AttributeView& attribute : node.attributes)
      for (const GraphView& graph : attribute.graphs) total = inlined_size(graph.nodes, total, depth);
  }
  return std::min(total, kMaxInlinedNodes + 1);
}

void GraphBuilder::inline_function(const FunctionView& function, const NodeView& view,
                                   const std::string& where, const std::string& id, Scope& scope) {
  const size_t before = problems_.count();
  if (is_recursive(function, scope.call))
    problem(where, "expected functions that do not call themselves, found a call of itself");
  else if (scope.depth >= kMaxDepth)
    problem(where,
            "expected functions and graphs at most " + std::to_string(kMaxDepth) + " deep, found more");
  else if (view.inputs.size() > function.inputs.size() || view.outputs.size() > function.outputs.size())
    problem(where, "expected at most " + std::to_string(function.inputs.size()) + " inputs and " +
                       std::to_string(function.outputs.size()) + " outputs as the function has, found " +
                       std::to_string(view.inputs.size()) + " and " + std::to_string(view.outputs.size()));
  else if (!scope.call && inlined_nodes_ + inlined_size(function, scope.depth) > kMaxInlinedNodes)
    problem(where, too_many_inlined());
  if (problems_.count() != before) {
    for (const std::string_view name : view.outputs)
      if (!name.empty()) placeholder(name, scope);
    return;
  }
  const FunctionCall call{&function, &view, &scope};
  Scope body;
  body.graph = scope.graph;
  body.call = &call;
  body.prefix = id;
  body.depth = scope.depth + 1;
  const auto [opsets, is_new] = function_opsets_.try_emplace(&function);
  if (is_new)
    opsets->second = read_opsets(function.opset_imports, "function " + quote(function.name), problems_);
  body.opsets = &opsets->second;
  const std::vector<Value*> inputs = find_inputs(view, where, scope);
  for (size_t i = 0; i < function.inputs.size(); ++i)
    define(function.inputs[i], i < inputs.size() ? inputs[i] : nullptr, "function " + quote(function.name),
           body);
  add_nodes(function.nodes, body);
  bind_function_outputs(function, view, where, body, scope);
}

void GraphBuilder::bind_function_outputs(const FunctionView& function, const NodeView& view,
                                         const std::string& where, Scope& body, Scope& scope) {
  std::unordered_set<const Value*> given;
  for (Value* input : find_inputs(view, where, scope)) given.insert(input);
  for (size_t i = 0; i < view.outputs.size(); ++i) {
    const std::string_view name = view.outputs[i];
    if (name.empty()) continue;
    Value* const* found = body.find(function.outputs[i]);
    Value* value = found ? *found : nullptr;
    if (!value) {
      problem(where,
              "expected the function to give " + quote(function.outputs[i]) + ", found no node that does");
      value = scope.graph->add_value(std::string(name), {});
      built_.broken.insert(value);
    } else if (!given.insert(value).second) {
      // An input handed through, or one value twice: two names need two values.
      value = copy_of(value, value_name(name, scope), body);
    } else {
      value->name = value_name(name, scope);
    }
    define(name, value, where, scope);
  }
}

}  // namespace wootz::onnx
