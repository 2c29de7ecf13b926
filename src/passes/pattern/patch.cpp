// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/patch.h"

#include <algorithm>

#include "base/error.h"
#include "ops/infer.h"
#include "passes/pattern/same_meaning.h"

namespace wootz {
namespace {

void merge_origins(std::vector<std::string>& into, const std::vector<std::string>& from) {
  for (const std::string& o : from)
    if (std::find(into.begin(), into.end(), o) == into.end()) into.push_back(o);
}

bool is_pinned(const Value& value, const Graph& graph) {
  return value.graph() != &graph || !value.producer() || graph.is_output(&value);
}

class Applier {
 public:
  Applier(Patch& patch, Node& root, std::string_view rule)
      : patch_(patch), root_(root), graph_(*root.graph()), rule_(rule) {}

  bool apply(PassContext& context) {
    // A graph output keeps its own writer: an Identity that only feeds it cannot vanish.
    for (const auto& r : patch_.replacements)
      if (root_.is("Identity") && graph_.is_output(r.old) &&
          (r.by.constant >= 0 || (r.by.existing && is_pinned(*r.by.existing, graph_))))
        return false;
    if (!context.enabled(rule_) || !context.allow_patch(rule_)) return false;
    for (const auto& c : patch_.constants) add_constant(c);
    for (const auto& n : patch_.nodes) add_node(n);
    for (const auto& r : patch_.replacements)
      if (r.by.made >= 0 && !keeps_meaning(*r.old, *resolve(r.by), context)) return false;
    std::vector<Node*> candidates;
    for (const auto& r : patch_.replacements) {
      if (Node* p = r.old->producer()) candidates.push_back(p);
      replace(r.old, resolve(r.by));
    }
    std::vector<std::string> origins;
    collect_origins(candidates, origins);
    for (Node* n : made_nodes_) merge_origins(n->origins, origins);
    if (made_nodes_.empty())
      for (const auto& r : patch_.replacements)
        if (r.by.existing && r.by.existing->producer())
          merge_origins(r.by.existing->producer()->origins, origins);
    erase_dead(candidates);
    return true;
  }

 private:
  void add_constant(const Patch::NewConstant& c) {
    const std::string name = graph_.unique_name("constant");
    made_constants_.push_back(c.data.is_defined()
                                  ? graph_.add_constant(name, c.data)
                                  : graph_.add_symbolic_constant(name, c.dtype, c.contents, c.scalar));
  }

  Value* resolve(const PatchOperand& operand) const {
    if (operand.constant >= 0) return made_constants_[size_t(operand.constant)];
    if (operand.made >= 0) return made_nodes_[size_t(operand.made)]->output(size_t(operand.output));
    return operand.existing;
  }

  void add_node(const Patch::NewNode& n) {
    std::vector<Value*> inputs;
    for (const PatchOperand& o : n.inputs) inputs.push_back(resolve(o));
    Node* node = graph_.add_node(n.domain, n.op, std::move(inputs), &root_);
    node->attributes = n.attributes;
    for (int i = 0; i < n.output_count; ++i) node->add_output(graph_.unique_name(n.op), Type{});
    made_nodes_.push_back(node);
    try {
      infer_node(*node);
    } catch (const Error& e) {
      throw Error(ErrorKind::kInternal, "rule `" + std::string(rule_) + "` makes a bad node: " + e.message());
    }
  }

  /// Else the new nodes are gone again, and that is told once.
  bool keeps_meaning(const Value& old, const Value& by, PassContext& context) {
    const std::string found = difference_in_meaning(old, by);
    if (found.empty()) return true;
    const std::string text = "thrown out: rule `" + std::string(rule_) + "` changes what '" + old.name +
                             "' is at some numbers: " + found + "; please report it";
    erase_dead(made_nodes_);
    if (std::none_of(context.remarks.begin(), context.remarks.end(),
                     [&](const Remark& r) { return r.text == text; }))
      context.remark(root_.origins, text);
    return false;
  }

  void replace(Value* old, Value* by) {
    adopt_type(*old, *by);
    const bool made = by->producer() &&
                      std::find(made_nodes_.begin(), made_nodes_.end(), by->producer()) != made_nodes_.end();
    if (graph_.is_output(old) && is_pinned(*by, graph_)) {
      Node* identity = graph_.add_node("Identity", {by}, &root_);
      Value* copy = identity->add_output(graph_.unique_name("copy"), by->type);
      copy->contents = by->contents;
      made_nodes_.push_back(identity);
      for (size_t i = 0; i < graph_.outputs().size(); ++i)
        if (graph_.outputs()[i] == old) graph_.set_output(i, copy);
      std::swap(copy->name, old->name);
    } else if (made || graph_.is_output(old)) {
      std::swap(by->name, old->name);
    }
    graph_.replace_uses(old, by);
  }

  void adopt_type(const Value& old, Value& by) const {
    const SymbolTable& symbols = graph_.symbols();
    auto disagree = [&] {
      throw Error(ErrorKind::kInternal, "rule `" + std::string(rule_) + "` replaces " +
                                            to_string(old.type, symbols) + " " + old.name + " by " +
                                            to_string(by.type, symbols));
    };
    if (!by.contents && old.contents && by.producer()) by.contents = old.contents;
    if (by.type.kind == Type::Kind::kUnknown) {
      by.type = old.type;
      return;
    }
    if (old.type.kind == Type::Kind::kUnknown) return;
    if (by.type.kind != old.type.kind || by.type.dtype != old.type.dtype) disagree();
    if (!old.type.has_rank()) return;
    if (!by.type.has_rank()) {
      by.type.shape = old.type.shape;
      return;
    }
    if (by.type.rank() != old.type.rank()) disagree();
    for (size_t i = 0; i < old.type.shape->size(); ++i) {
      const Dim a = symbols.resolve((*old.type.shape)[i]), b = symbols.resolve((*by.type.shape)[i]);
      if (a.is_constant() && b.is_constant() && !(a == b)) disagree();
      // Two spellings of one size: the old one, that the readers were inferred with, unless the new one is a
      // number.
      if (!b.is_constant()) (*by.type.shape)[i] = a;
    }
  }

  // Origins of the nodes that die with the replaced values.
  void collect_origins(const std::vector<Node*>& candidates, std::vector<std::string>& origins) const {
    std::vector<const Node*> dead;
    auto dies = [&](const Node* n) {
      for (const Value* v : n->outputs()) {
        if (!v) continue;
        if (v->graph()->is_output(v)) return false;
        for (const Use& u : v->uses())
          if (std::find(dead.begin(), dead.end(), u.node) == dead.end()) return false;
      }
      return true;
    };
    std::vector<const Node*> work(candidates.begin(), candidates.end());
    while (!work.empty()) {
      const Node* n = work.back();
      work.pop_back();
      if (std::find(dead.begin(), dead.end(), n) != dead.end() || !dies(n)) continue;
      dead.push_back(n);
      merge_origins(origins, n->origins);
      for (const Value* v : n->inputs())
        if (v && v->producer()) work.push_back(v->producer());
    }
  }

  Patch& patch_;
  Node& root_;
  Graph& graph_;
  std::string_view rule_;
  std::vector<Value*> made_constants_;
  std::vector<Node*> made_nodes_;
};

}  // namespace

PatchOperand Patch::constant(Tensor data) {
  PatchOperand o;
  o.constant = static_cast<int>(constants.size());
  constants.push_back({std::move(data), {}, DType::kUndefined, false});
  return o;
}

PatchOperand Patch::symbolic(DType dtype, std::vector<Dim> contents, bool scalar) {
  PatchOperand o;
  o.constant = static_cast<int>(constants.size());
  constants.push_back({Tensor(), std::move(contents), dtype, scalar});
  return o;
}

PatchOperand Patch::node(std::string domain, std::string op, std::vector<PatchOperand> inputs,
                         Attributes attributes, int output_count) {
  PatchOperand o;
  o.made = static_cast<int>(nodes.size());
  nodes.push_back({std::move(domain), std::move(op), std::move(inputs), std::move(attributes), output_count});
  return o;
}

bool apply_patch(Patch& patch, Node& root, std::string_view rule, PassContext& context) {
  return Applier(patch, root, rule).apply(context);
}

bool is_live(const Node& node) {
  for (const Value* v : node.outputs())
    if (v && (!v->uses().empty() || v->graph()->is_output(v))) return true;
  return false;
}

int erase_dead(std::vector<Node*> nodes) {
  int erased = 0;
  std::vector<Node*> gone;
  while (!nodes.empty()) {
    Node* n = nodes.back();
    nodes.pop_back();
    if (std::find(gone.begin(), gone.end(), n) != gone.end() || is_live(*n)) continue;
    for (Value* v : n->inputs())
      if (v && v->producer()) nodes.push_back(v->producer());
    for (Graph* g : n->subgraphs())
      for (Value* v : captures(*g))
        if (v->producer()) nodes.push_back(v->producer());
    gone.push_back(n);
    n->graph()->erase(n);
    ++erased;
  }
  return erased;
}

}  // namespace wootz
