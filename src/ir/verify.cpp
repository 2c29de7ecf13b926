// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace wootz {
namespace {

constexpr size_t kMaxShown = 5;

std::string named(const Value* value) {
  return "%" + (value->name.empty() ? "#" + std::to_string(value->id()) : value->name);
}

std::string named(const Node& node) {
  const Value* first = node.output(0);
  return node.op + (first ? " of " + named(first) : " #" + std::to_string(node.id()));
}

class Verifier {
 public:
  void graph(const Graph& g);
  void uses();
  void report(const char* after) const;

 private:
  void problem(std::string what) {
    if (problems_.size() < kMaxShown) problems_.push_back(std::move(what));
    ++count_;
  }
  void value(const Graph& g, const Value& v);
  void type(const Value& v, const Type& t);
  void constant(const Value& v);
  void contents(const Value& v);
  void node(const Graph& g, const Node& n);
  void outputs(const Graph& g, const Node& n);
  void subgraphs(const Graph& g, const Node& n);

  std::vector<const Graph*> enclosing_;
  std::unordered_set<const Value*> written_;  // by what stands before the present node, here or around
  std::unordered_set<const Graph*> seen_graphs_;
  std::unordered_map<const Value*, std::set<std::pair<const Node*, int>>> reads_;
  std::vector<const Value*> values_;
  std::vector<std::string> problems_;
  size_t count_ = 0;
};

void Verifier::type(const Value& v, const Type& t) {
  const auto symbols = static_cast<SymbolId>(v.graph()->symbols().size());
  if (t.shape)
    for (const Dim& d : *t.shape)
      for (const auto& term : d.terms())
        if (term.first >= symbols) problem(named(&v) + ": its shape has a symbol of another table");
  if (t.element) type(v, *t.element);
}

void Verifier::constant(const Value& v) {
  if (v.producer()) problem(named(&v) + " is a constant and written by " + named(*v.producer()));
  const Tensor& data = *v.constant;
  const bool same_shape =
      !v.type.has_rank() || std::equal(v.type.shape->begin(), v.type.shape->end(), data.dims().begin(),
                                       data.dims().end(), [](const Dim& d, int64_t n) { return d.is(n); });
  if (!v.type.is_tensor() || v.type.dtype != data.dtype() || !same_shape)
    problem(named(&v) + ": its type " + to_string(v.type, v.graph()->symbols()) + " is not that of its data");
}

void Verifier::contents(const Value& v) {
  const DType dtype = v.type.dtype;
  const bool holds_numbers = v.type.is_tensor() && (is_integer(dtype) || dtype == DType::kBool ||
                                                    dtype == DType::kFloat32 || dtype == DType::kFloat64);
  if (!holds_numbers)
    problem(named(&v) + " has contents, expected a tensor of integers or whole numbers, found " +
            to_string(v.type, v.graph()->symbols()));
  if (!v.type.has_rank()) return;
  const Shape& shape = *v.type.shape;
  const bool fits =
      shape.empty() ? v.contents->size() == 1
                    : shape.size() == 1 &&
                          (!shape[0].is_constant() || shape[0].is(static_cast<int64_t>(v.contents->size())));
  if (!fits)
    problem(named(&v) + ": " + std::to_string(v.contents->size()) + " contents do not fit " +
            to_string(v.type, v.graph()->symbols()));
}

void Verifier::value(const Graph& g, const Value& v) {
  values_.push_back(&v);
  if (v.graph() != &g) problem(named(&v) + " does not know its graph");
  if (v.is_graph_input() && v.producer())
    problem(named(&v) + " is an input and written by " + named(*v.producer()));
  type(v, v.type);
  if (v.constant) constant(v);
  if (v.contents) contents(v);
  if (v.layout == Layout::kChannelsLast && (!v.type.has_rank() || v.type.rank() < 3))
    problem(named(&v) + " is channels_last, expected a known rank >= 3");
  if (v.is_graph_input() || v.constant || v.is_symbolic_constant()) written_.insert(&v);
}

void Verifier::outputs(const Graph& g, const Node& n) {
  for (size_t i = 0; i < n.outputs().size(); ++i) {
    const Value* v = n.outputs()[i];
    if (!v) continue;
    if (v->graph() != &g || v->producer() != &n || v->output_index() != static_cast<int>(i))
      problem(named(n) + ": output " + std::to_string(i) + " (" + named(v) + ") names another producer");
    if (!written_.insert(v).second) problem(named(v) + " is written twice");
  }
}

void Verifier::subgraphs(const Graph& g, const Node& n) {
  for (const auto& [key, attribute] : n.attributes) {
    const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute);
    if (list && std::find(list->begin(), list->end(), nullptr) != list->end())
      problem(named(n) + ": attribute " + key + " holds an empty graph");
  }
  for (const Graph* sub : n.subgraphs()) {
    if (!sub) continue;
    if (sub->parent() != &g) problem(named(n) + ": a subgraph names another parent");
    if (sub->shared_symbols() != g.shared_symbols())
      problem(named(n) + ": a subgraph has another symbol table");
    if (!seen_graphs_.insert(sub).second)
      problem(named(n) + ": a subgraph belongs to two nodes");
    else
      graph(*sub);
  }
}

void Verifier::node(const Graph& g, const Node& n) {
  if (n.graph() != &g) problem(named(n) + " does not know its graph");
  if (n.op.empty()) problem(named(n) + " has no op");
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    const Value* v = n.inputs()[i];
    if (!v) continue;
    if (!reads_[v].emplace(&n, static_cast<int>(i)).second) problem(named(n) + " is listed twice");
    if (std::find(enclosing_.begin(), enclosing_.end(), v->graph()) == enclosing_.end())
      problem(named(n) + " reads " + named(v) + ", which is not a value of this graph or one around it");
    else if (!written_.contains(v))
      problem(named(n) + " reads " + named(v) + " before it is written");
  }
  subgraphs(g, n);
  outputs(g, n);
}

void Verifier::graph(const Graph& g) {
  enclosing_.push_back(&g);
  for (const auto& v : g.values()) value(g, *v);
  for (const Value* v : g.inputs())
    if (!v || !v->is_graph_input() || v->graph() != &g)
      problem("an input of the graph is null or not marked as input");
  for (const auto& n : g.nodes()) node(g, *n);
  for (const Value* v : g.outputs()) {
    if (!v)
      problem("an output of the graph is null");
    else if (v->graph() != &g)
      problem("output " + named(v) + " belongs to another graph; pass it through an Identity");
    else if (!written_.contains(v))
      problem("output " + named(v) + " is never written");
  }
  enclosing_.pop_back();
}

/// Uses are compared as addresses: one that dangles is never followed.
void Verifier::uses() {
  for (const Value* v : values_) {
    const auto& expected = reads_[v];
    std::set<std::pair<const Node*, int>> found;
    for (const Use& use : v->uses()) found.emplace(use.node, use.index);
    if (found != expected || v->uses().size() != expected.size())
      problem(named(v) + ": its uses are not its readers (" + std::to_string(v->uses().size()) + " uses, " +
              std::to_string(expected.size()) + " reads)");
  }
}

void Verifier::report(const char* after) const {
  if (count_ == 0) return;
  std::string message = "the graph is malformed after " + std::string(after) + ": ";
  for (size_t i = 0; i < problems_.size(); ++i) message += (i ? "; " : "") + problems_[i];
  if (count_ > problems_.size()) message += "; and " + std::to_string(count_ - problems_.size()) + " more";
  throw Error(ErrorKind::kInternal, message + ". This is a bug in Wootz, please report it with the model");
}

}  // namespace

void verify_graph(const Graph& graph, const char* after) {
  Verifier verifier;
  verifier.graph(graph);
  verifier.uses();
  verifier.report(after);
}

}  // namespace wootz
