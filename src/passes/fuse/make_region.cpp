// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/make_region.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "device/region.h"
#include "passes/fuse/grow.h"

namespace wootz {
namespace {

class RegionMaker {
 public:
  RegionMaker(Graph& graph, const Group& group)
      : graph_(graph),
        group_(group),
        inside_(group.nodes.begin(), group.nodes.end()),
        body_(std::make_shared<Graph>(graph.shared_symbols(), &graph)) {}

  Node* make(float predicted_us) {
    for (const Node* n : group_.nodes) {
      if (folds_scalars(*n)) continue;
      for (Value* v : n->inputs())
        if (v) kept_whole_.insert(v);
    }
    for (const Node* n : group_.nodes) copy_node(*n);
    Node* region = graph_.add_node(kRegionDomain, kRegionOp, inputs_, group_.nodes.front());
    for (const Node* n : group_.nodes)
      for (const std::string& o : n->origins)
        if (std::find(region->origins.begin(), region->origins.end(), o) == region->origins.end())
          region->origins.push_back(o);
    region->attributes.set("body", body_);
    region->attributes.set("kind", group_.kind);
    region->attributes.set("predicted_us", predicted_us);
    for (const Node* n : group_.nodes)
      for (Value* v : n->outputs())
        if (v && leaves(*v)) move_output(*region, *v);
    for (auto it = group_.nodes.rbegin(); it != group_.nodes.rend(); ++it) graph_.erase(*it);
    return region;
  }

 private:
  /// Scalars of pointwise expressions stay in the body; what other operators read is an operand.
  bool folds_scalars(const Node& n) const { return group_.kind != "single" && is_pointwise(n); }

  bool leaves(const Value& v) const {
    return graph_.is_output(&v) || std::any_of(v.uses().begin(), v.uses().end(),
                                               [&](const Use& u) { return !inside_.contains(u.node); });
  }

  Value* body_value(Value* v) {
    if (!v) return nullptr;
    if (auto it = mapped_.find(v); it != mapped_.end()) return it->second;
    Value* made = nullptr;
    if (v->is_constant() && v->constant->size() == 1 && !kept_whole_.contains(v)) {
      made = body_->add_constant(v->name, *v->constant);
    } else {
      made = body_->add_input(v->name, v->type);
      made->contents = v->contents;
      inputs_.push_back(v);
    }
    made->layout = v->layout;
    mapped_[v] = made;
    return made;
  }

  void copy_node(const Node& n) {
    std::vector<Value*> inputs;
    for (Value* v : n.inputs()) inputs.push_back(body_value(v));
    Node* copy = body_->add_node(n.domain, n.op, std::move(inputs));
    copy->name = n.name;
    copy->origins = n.origins;
    for (const auto& [name, attribute] : n.attributes) copy->attributes.set(name, copy_attribute(attribute));
    for (Value* v : n.outputs()) {
      if (!v) {
        copy->adopt_output(copy->outputs().size(), nullptr);
        continue;
      }
      Value* made = copy->add_output(v->name, v->type);
      made->layout = v->layout;
      made->contents = v->contents;
      mapped_[v] = made;
    }
  }

  Attribute copy_attribute(const Attribute& attribute) {
    auto clone = [&](const GraphPtr& g) {
      return g->clone(graph_.shared_symbols(), body_.get(), [&](Value* v) { return body_value(v); });
    };
    if (const auto* g = std::get_if<GraphPtr>(&attribute)) return GraphPtr(clone(*g));
    if (const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute)) {
      std::vector<GraphPtr> copies;
      for (const GraphPtr& g : *list) copies.push_back(clone(g));
      return copies;
    }
    return attribute;
  }

  void move_output(Node& region, Value& v) {
    body_->add_output(mapped_.at(&v));
    Value* moved = region.add_output(graph_.unique_name("region"), v.type);
    moved->layout = v.layout;
    moved->contents = v.contents;
    std::swap(moved->name, v.name);
    graph_.replace_uses(&v, moved);
  }

  Graph& graph_;
  const Group& group_;
  std::unordered_set<const Node*> inside_;
  GraphPtr body_;
  std::vector<Value*> inputs_;
  std::unordered_map<const Value*, Value*> mapped_;
  std::unordered_set<const Value*> kept_whole_;
};

}  // namespace

Node* make_region(Graph& graph, const Group& group, float predicted_us) {
  return RegionMaker(graph, group).make(predicted_us);
}

}  // namespace wootz
