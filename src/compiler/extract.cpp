// SPDX-License-Identifier: Apache-2.0
#include "compiler/extract.h"

#include <map>

namespace wootz {
namespace {

class Extractor {
 public:
  Extractor(const Graph& from, const std::function<Supply(const Value&)>& supply)
      : supply_(supply), to_(std::make_unique<Graph>(std::make_shared<SymbolTable>(from.symbols()))) {
    to_->name = from.name;
  }

  void add(const Node& node) {
    std::vector<Value*> inputs;
    for (Value* v : node.inputs()) inputs.push_back(v ? mapped(v) : nullptr);
    Node* copy = to_->add_node(node.domain, node.op, std::move(inputs));
    copy->name = node.name;
    copy->origins = node.origins;
    for (const auto& [name, attribute] : node.attributes) copy->attributes.set(name, copied(attribute));
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* v = node.output(i);
      Value* made = v ? to_->add_value(v->name, v->type) : nullptr;
      copy->adopt_output(i, made);
      if (v) map_[v] = made, made_.push_back(v);
    }
  }

  std::unique_ptr<Graph> finish(std::span<const Value* const> outputs) {
    for (const Value* v : outputs)
      if (const auto it = map_.find(v); it != map_.end() && it->second->producer()) add_output(it->second);
    if (to_->outputs().empty())
      for (const Value* v : made_)
        if (map_.at(v)->uses().empty()) add_output(map_.at(v));
    return std::move(to_);
  }

 private:
  void add_output(Value* v) {
    if (!to_->is_output(v)) to_->add_output(v);
  }

  Value* mapped(Value* v) {
    if (const auto it = map_.find(v); it != map_.end()) return it->second;
    Supply s = supply_(*v);
    Value* made = nullptr;
    if (s.constant) {
      made = to_->add_constant(v->name, std::move(*s.constant));
    } else {
      Type type = v->type;
      if (type.is_tensor()) {
        type.shape.reset();
        if (s.dims) type.shape.emplace(s.dims->begin(), s.dims->end());
      }
      made = to_->add_input(v->name, std::move(type));
    }
    return map_[v] = made;
  }

  Attribute copied(const Attribute& attribute) {
    const auto clone = [this](const GraphPtr& body) {
      return body->clone(to_->shared_symbols(), to_.get(), [this](Value* outer) { return mapped(outer); });
    };
    if (const auto* body = std::get_if<GraphPtr>(&attribute)) return GraphPtr(clone(*body));
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute)) {
      std::vector<GraphPtr> copies;
      for (const GraphPtr& body : *bodies) copies.push_back(clone(body));
      return copies;
    }
    return attribute;
  }

  const std::function<Supply(const Value&)>& supply_;
  std::unique_ptr<Graph> to_;
  std::map<const Value*, Value*> map_;
  std::vector<const Value*> made_;  // by the nodes, in order
};

}  // namespace

std::unique_ptr<Graph> extract(const Graph& from, const std::set<const Node*>& nodes,
                               std::span<const Value* const> outputs,
                               const std::function<Supply(const Value&)>& supply) {
  Extractor extractor(from, supply);
  for (const auto& node : from.nodes())
    if (nodes.contains(node.get())) extractor.add(*node);
  return extractor.finish(outputs);
}

}  // namespace wootz
