// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/graph.h"

namespace wootz {
namespace {

using OuterMap = std::function<Value*(Value*)>;
using ValueMap = std::vector<std::pair<const Value*, Value*>>;

Attribute cloned(const Attribute& attribute, Graph& parent, const OuterMap& outer, ValueMap* value_map) {
  const auto clone_graph = [&](const GraphPtr& graph) {
    return graph ? graph->clone(parent.shared_symbols(), &parent, outer, value_map) : nullptr;
  };
  if (const auto* one = std::get_if<GraphPtr>(&attribute)) return clone_graph(*one);
  if (const auto* many = std::get_if<std::vector<GraphPtr>>(&attribute)) {
    std::vector<GraphPtr> copies;
    for (const GraphPtr& graph : *many) copies.push_back(clone_graph(graph));
    return copies;
  }
  return attribute;
}

}  // namespace

std::shared_ptr<Graph> Graph::clone(std::shared_ptr<SymbolTable> symbols, Graph* parent,
                                    const OuterMap& outer, ValueMap* value_map) const {
  auto copy = std::make_shared<Graph>(std::move(symbols), parent);
  copy->name = name;
  std::map<const Value*, Value*> mapped;
  for (const auto& value : values_) {
    Value* twin = value->is_graph_input_ ? nullptr : copy->add_value(value->name, value->type);
    if (twin) mapped[value.get()] = twin;
  }
  for (const Value* input : inputs_) mapped[input] = copy->add_input(input->name, input->type);
  for (const auto& value : values_) {
    Value* twin = mapped.at(value.get());
    twin->layout = value->layout;
    twin->constant = value->constant;
    twin->contents = value->contents;
    if (value_map) value_map->emplace_back(value.get(), twin);
  }
  const OuterMap map = [&](Value* value) -> Value* {
    if (!value) return nullptr;
    if (auto it = mapped.find(value); it != mapped.end()) return it->second;
    return outer ? outer(value) : value;
  };
  for (const auto& node : nodes_) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(map(input));
    Node* twin = copy->add_node(node->domain, node->op, std::move(inputs));
    twin->name = node->name;
    twin->origins = node->origins;
    for (size_t i = 0; i < node->outputs().size(); ++i) twin->adopt_output(i, map(node->outputs()[i]));
    for (const auto& [key, attribute] : node->attributes)
      twin->attributes.set(key, cloned(attribute, *copy, map, value_map));
  }
  for (Value* output : outputs_) copy->add_output(map(output));
  return copy;
}

}  // namespace wootz
