// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/assign_layouts.h"

#include <algorithm>
#include <unordered_map>

#include "passes/fuse/grow.h"
#include "passes/layout/layout_rules.h"
#include "passes/layout/min_cut.h"

namespace wootz {
namespace {

/// Labels: true is channels last. A node has a label for what it reads and one for what it writes; mostly
/// they are one.
class Assignment {
 public:
  Assignment(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), sizes_(graph.symbols(), context) {}

  bool run() {
    for (const auto& node : graph_.nodes()) add_node(*node);
    if (!any_choice_) return false;
    for (const auto& value : graph_.values()) add_value(*value);
    labels_ = cut_.solve();
    bool changed = false;
    for (const auto& value : graph_.values()) changed |= label_value(*value);
    // Inserting adds values to the list that is walked.
    std::vector<Value*> values;
    for (const auto& value : graph_.values()) values.push_back(value.get());
    for (Value* value : values) changed |= convert_uses(*value);
    return changed;
  }

 private:
  struct NodeLabels {
    int reads = -1, writes = -1;  // -1: row-major
    LayoutRule rule;
  };

  double move_seconds(const Value& value) const {
    const TargetTraits& t = context_.target;
    return 2 * sizes_.bytes_of(value) / (t.bytes_per_second > 0 ? t.bytes_per_second : 1e10) +
           t.launch_seconds;
  }

  void add_node(Node& node) {
    NodeLabels& labels = nodes_[&node];
    labels.rule = layout_rule_of(node, sizes_, context_.target);
    using Kind = LayoutRule::Kind;
    if (labels.rule.kind == Kind::kRowMajor) return;
    const int v = cut_.add_variable();
    any_choice_ |= labels.rule.row_major_penalty > 0;
    if (labels.rule.kind == Kind::kEqual) {
      labels.reads = labels.writes = v;
      cut_.cost_if_false(v, labels.rule.row_major_penalty);
    } else {
      (labels.rule.kind == Kind::kToLast ? labels.reads : labels.writes) = v;
      cut_.cost_if_false(v, move_seconds(*node.output(0)));
    }
  }

  int written_label(const Value& value) const {
    if (!value.producer()) return -1;
    return nodes_.at(value.producer()).writes;
  }

  /// The label that a reader wants; nothing where it takes any layout.
  std::optional<int> read_label(const Use& use) const {
    auto it = nodes_.find(use.node);
    if (it == nodes_.end()) return -1;  // a subgraph's node
    const NodeLabels& labels = it->second;
    if (labels.rule.kind == LayoutRule::Kind::kEqual) {
      const auto& in = labels.rule.inputs;
      if (std::find(in.begin(), in.end(), size_t(use.index)) == in.end()) return std::nullopt;
    }
    return labels.reads;
  }

  static bool is_movable(const Value& value) {
    return has_layouts(value) && !value.is_constant() && !value.is_symbolic_constant();
  }

  /// One conversion serves all readers that want the other layout.
  void add_value(const Value& value) {
    if (!is_movable(value)) return;
    const int w = written_label(value);
    std::vector<int> readers;
    for (const Use& u : value.uses()) {
      const std::optional<int> r = read_label(u);
      if (!r) continue;
      readers.push_back(*r);
      // A conversion between a result and the pointwise node behind it also costs their fusion.
      if (*r >= 0 && w >= 0 && is_pointwise(*u.node)) {
        cut_.cost_if_true_false(w, *r, move_seconds(value));
        cut_.cost_if_true_false(*r, w, move_seconds(value));
      }
    }
    if (graph_.is_output(&value)) readers.push_back(-1);
    // Values that both layouts order alike cost nothing; a trace of cost keeps neighbours in one layout.
    const double cost = layouts_coincide(value) ? 1e-9 : move_seconds(value);
    // true -> false: paid once through a variable that any row-major reader pulls to false; false -> true
    // likewise.
    const int to_false = cut_.add_variable(), to_true = cut_.add_variable();
    if (w >= 0) {
      cut_.cost_if_true_false(w, to_false, cost);
      cut_.cost_if_true_false(to_true, w, cost);
    } else {
      cut_.cost_if_true(to_true, cost);
    }
    for (int r : readers) {
      if (r >= 0) {
        cut_.cost_if_true_false(to_false, r, MinCut::kNever);
        cut_.cost_if_true_false(r, to_true, MinCut::kNever);
      } else {
        cut_.cost_if_true(to_false, MinCut::kNever);
      }
    }
  }

  Layout layout_of(int label) const {
    return label >= 0 && labels_[size_t(label)] ? Layout::kChannelsLast : Layout::kRowMajor;
  }

  bool label_value(Value& value) {
    if (!is_movable(value) || value.is_graph_input()) return false;
    const Layout wanted = layout_of(written_label(value));
    // A graph output is handed over in row-major order; its conversion is made below.
    if (wanted == value.layout) return false;
    value.layout = wanted;
    return true;
  }

  bool convert_uses(Value& value) {
    if (!is_movable(value) || layouts_coincide(value)) return false;
    std::vector<Use> other;
    for (const Use& u : value.uses())
      if (std::optional<int> r = read_label(u); r && layout_of(*r) != value.layout) other.push_back(u);
    const bool output = graph_.is_output(&value) && value.layout != Layout::kRowMajor;
    if (other.empty() && !output) return false;
    if (!context_.allow_patch("assign_layouts")) return false;
    Node* relayout = insert_relayout(value);
    Value* converted = relayout->output(0);
    for (const Use& u : other) u.node->set_input(size_t(u.index), converted);
    if (output) {
      for (size_t i = 0; i < graph_.outputs().size(); ++i)
        if (graph_.outputs()[i] == &value) graph_.set_output(i, converted);
      std::swap(converted->name, value.name);
    }
    return true;
  }

  Node* insert_relayout(Value& value) {
    Node* before = graph_.nodes().empty() ? nullptr : graph_.nodes().front().get();
    if (value.producer()) {
      before = nullptr;
      for (auto it = graph_.nodes().begin(); it != graph_.nodes().end(); ++it)
        if (it->get() == value.producer()) {
          if (++it != graph_.nodes().end()) before = it->get();
          break;
        }
    }
    const bool to_last = value.layout == Layout::kRowMajor;
    Node* node = graph_.add_node("wootz", "Relayout", {&value}, before);
    node->attributes.set("layout", std::string(to_last ? "channels_last" : "row_major"));
    if (value.producer()) node->origins = value.producer()->origins;
    Value* out = node->add_output(graph_.unique_name(value.name + "_relayout"), value.type);
    out->layout = to_last ? Layout::kChannelsLast : Layout::kRowMajor;
    nodes_[node] = {};
    context_.remark(node->origins,
                    "layout conversion of " + value.name + " to " +
                        (to_last ? "channels last" : "row-major") + " order, " +
                        std::to_string(static_cast<int64_t>(sizes_.bytes_of(value))) + " bytes",
                    move_seconds(value) * 1e6);
    return node;
  }

  Graph& graph_;
  PassContext& context_;
  SizeModel sizes_;
  MinCut cut_;
  std::unordered_map<const Node*, NodeLabels> nodes_;
  std::vector<bool> labels_;
  bool any_choice_ = false;
};

bool run_assign_layouts(Graph& graph, PassContext& context) {
  if (!context.target.prefers_channels_last || context.exhausted()) return false;
  for (const auto& node : graph.nodes())
    if (node->is("wootz", "Relayout") || node->is("wootz", "Region")) return false;  // assigned already
  return Assignment(graph, context).run();
}

}  // namespace

Pass assign_layouts() {
  return {"assign_layouts",
          "Chooses the layout of every value so that kernels and conversions together cost least.",
          run_assign_layouts};
}

}  // namespace wootz
