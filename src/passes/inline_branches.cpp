// SPDX-License-Identifier: Apache-2.0
#include "passes/inline_branches.h"

#include <algorithm>
#include <unordered_map>

#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

class Inliner {
 public:
  Inliner(Node& node, const Graph& branch) : node_(node), graph_(*node.graph()), branch_(branch) {}

  void run() {
    for (const auto& value : branch_.values())
      if (value->is_constant() || value->is_symbolic_constant()) copy_constant(*value);
    for (const auto& inner : branch_.nodes()) copy_node(*inner);
    for (size_t i = 0; i < node_.outputs().size(); ++i)
      if (Value* old = node_.output(i)) replace(*old, map(branch_.outputs()[i]));
  }

 private:
  Value* map(Value* v) const {
    auto it = mapped_.find(v);
    return it == mapped_.end() ? v : it->second;
  }

  void copy_constant(const Value& v) {
    const std::string name = graph_.unique_name(v.name);
    mapped_[&v] = v.is_constant() ? graph_.add_constant(name, *v.constant)
                                  : graph_.add_symbolic_constant(name, v.type.dtype, *v.contents,
                                                                 v.type.has_rank() && v.type.rank() == 0);
  }

  void copy_node(const Node& n) {
    std::vector<Value*> inputs;
    for (Value* v : n.inputs()) inputs.push_back(v ? map(v) : nullptr);
    Node* copy = graph_.add_node(n.domain, n.op, std::move(inputs), &node_);
    copy->name = n.name;
    copy->origins = n.origins;
    for (const auto& [name, attribute] : n.attributes) copy->attributes.set(name, copy_attribute(attribute));
    for (size_t i = 0; i < n.outputs().size(); ++i) {
      const Value* v = n.outputs()[i];
      if (!v) {
        copy->adopt_output(i, nullptr);
        continue;
      }
      Value* made = graph_.add_value(graph_.unique_name(v->name), v->type);
      made->contents = v->contents;
      copy->adopt_output(i, made);
      mapped_[v] = made;
    }
  }

  Attribute copy_attribute(const Attribute& attribute) const {
    const auto clone = [&](const GraphPtr& g) {
      return g->clone(graph_.shared_symbols(), &graph_, [&](Value* v) { return map(v); });
    };
    if (const auto* g = std::get_if<GraphPtr>(&attribute)) return GraphPtr(clone(*g));
    if (const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute)) {
      std::vector<GraphPtr> copies;
      for (const GraphPtr& g : *list) copies.push_back(clone(g));
      return copies;
    }
    return attribute;
  }

  void replace(Value& old, Value* by) {
    if (graph_.is_output(&old)) {
      // An output keeps a writer of its own; a superfluous Identity goes later.
      Node* identity = graph_.add_node("Identity", {by}, &node_);
      identity->origins = node_.origins;
      by = identity->add_output(graph_.unique_name("branch"), by->type);
      std::swap(by->name, old.name);
    }
    graph_.replace_uses(&old, by);
  }

  Node& node_;
  Graph& graph_;
  const Graph& branch_;
  std::unordered_map<const Value*, Value*> mapped_;
};

bool run_inline_branches(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_inline_branches(*inner, context);
    if (!node.is("If")) continue;
    const auto condition = known_ints(node.input(0));
    if (!condition || condition->size() != 1 || !context.allow_patch("if(constant) => branch")) continue;
    const GraphPtr branch =
        node.attributes.require<GraphPtr>((*condition)[0] ? "then_branch" : "else_branch");
    Inliner(node, *branch).run();
    erase_dead({&node});
    changed = true;
  }
  return changed;
}

}  // namespace

Pass inline_branches() {
  return {"inline_branches", "An If whose condition is known becomes its branch.", run_inline_branches};
}

}  // namespace wootz
