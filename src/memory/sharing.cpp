// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/region.h"
#include "memory/placement.h"
#include "memory/view.h"

namespace wootz {
namespace {

/// Takes one decision after the other; each is kept only while every kernel around it still serves its
/// operands.
class Chooser {
 public:
  Chooser(const Graph& graph, const Bindings& bindings, const ServesStep& serves)
      : graph_(graph),
        bindings_(bindings),
        serves_(serves),
        sharing_(graph.node_count()),
        linked_(value_id_count(graph), 0) {
    plan_ = plan_strides(graph_, bindings_, sharing_);
    int step = 0;
    for (const auto& node : graph_.nodes())
      steps_.push_back(node.get()), step_of_.emplace_back(node.get(), step++);
    std::sort(step_of_.begin(), step_of_.end());
  }

  std::vector<StepSharing> run() {
    for (size_t step = 0; step < steps_.size(); ++step) {
      if (plan_.interpreted[step]) continue;
      if (const Node* inner = single_node(*steps_[step])) {
        if (try_into_output(step, *inner) || try_view(step, *inner)) continue;
      }
      try_in_place(step);
    }
    return sharing_;
  }

 private:
  const Placement& at(const Value* v) const { return plan_.values[static_cast<size_t>(v->id())]; }
  bool is_linked(const Value* v) const { return linked_[static_cast<size_t>(v->id())] != 0; }
  size_t step_of(const Node* node) const {
    return static_cast<size_t>(
        std::lower_bound(step_of_.begin(), step_of_.end(), std::pair(node, 0))->second);
  }

  /// Keeps the decision if all steps that touch the changed values still have a kernel.
  bool keep_if_served(size_t step, StepSharing decision, std::span<const Value* const> changed) {
    sharing_[step] = decision;
    ShapePlan next = plan_strides(graph_, bindings_, sharing_);
    if (next.sharing[step].kind != decision.kind) return revert(step);
    std::vector<const Node*> touched;
    for (const Value* v : changed) {
      if (v->producer()) touched.push_back(v->producer());
      for (const Use& use : v->uses()) touched.push_back(use.node);
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const Node* node : touched) {
      if (node->graph() != &graph_) return revert(step);
      const size_t s = step_of(node);
      if (plan_.interpreted[s] || runs_nothing(sharing_[s])) continue;
      const Problem now = problem_of(*node, next, 1), before = problem_of(*node, plan_, 1);
      if (!serves_(*node, now.inputs, now.outputs) && serves_(*node, before.inputs, before.outputs))
        return revert(step);
    }
    plan_ = std::move(next);
    for (const Value* v : changed) linked_[static_cast<size_t>(v->id())] = 1;
    return true;
  }
  bool revert(size_t step) {
    sharing_[step] = {};
    return false;
  }

  /// Values that may be moved into another's storage: made by a step, alone in their storage, not handed out.
  bool may_move(const Value* v) const {
    return v && v->producer() && !is_linked(v) && !graph_.is_output(v) &&
           at(v).kind == Placement::Kind::kArena;
  }

  bool try_into_output(size_t step, const Node& inner) {
    const Node& node = *steps_[step];
    const bool concat = inner.is("Concat");
    if (!concat && !graph_.is_output(node.output(0))) return false;
    const size_t count = concat ? node.inputs().size() : 1;
    const Problem p = problem_of(node, plan_, 1);
    std::vector<const Value*> changed;
    for (size_t i = 0; i < count; ++i) {
      const Value* in = node.input(i);
      if (!may_move(in) || has_children(in) || std::count(changed.begin(), changed.end(), in)) return false;
      if (!view_of_output(inner, i, p.inputs, p.outputs[0])) return false;
      changed.push_back(in);
    }
    return keep_if_served(step, {Sharing::kIntoOutput, 0}, changed);
  }

  bool try_view(size_t step, const Node& inner) {
    const Node& node = *steps_[step];
    if (!node.input(0) || at(node.input(0)).kind == Placement::Kind::kConstant) return false;
    const Problem p = problem_of(node, plan_, 1);
    std::vector<const Value*> changed;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* out = node.output(i);
      if (!out) continue;
      if (graph_.is_output(out) || is_linked(out)) return false;
      const auto view = view_of_input(inner, i, p.inputs, p.outputs[i].dims);
      if (!view) return false;
      changed.push_back(out);
    }
    return keep_if_served(step, {Sharing::kView, 0}, changed);
  }

  /// A pointwise step may overwrite an operand of the same shape that nobody reads afterwards.
  void try_in_place(size_t step) {
    const Node& node = *steps_[step];
    if (!is_region(node) || node.attributes.get<std::string>("kind", "") != "pointwise") return;
    const Value* out = node.output(0);
    if (!out || node.outputs().size() != 1 || graph_.is_output(out) || is_linked(out)) return;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* in = node.input(i);
      if (!may_move(in) || in->uses().size() != 1 || has_children(in)) continue;
      const TensorDesc &a = at(in).desc, &b = at(out).desc;
      if (a.dtype != b.dtype || a.dims != b.dims || a.strides != b.strides) continue;
      sharing_[step] = {Sharing::kInPlace, static_cast<int>(i)};
      linked_[static_cast<size_t>(out->id())] = 1;
      return;
    }
  }

  /// Whether another value is a view of this one already.
  bool has_children(const Value* v) const {
    for (const Use& use : v->uses())
      if (use.node->graph() == &graph_) {
        const StepSharing& s = sharing_[step_of(use.node)];
        if ((s.kind == Sharing::kView && use.index == 0) ||
            (s.kind == Sharing::kInPlace && use.index == s.input))
          return true;
      }
    return false;
  }

  const Graph& graph_;
  const Bindings& bindings_;
  const ServesStep& serves_;
  std::vector<StepSharing> sharing_;
  std::vector<char> linked_;
  ShapePlan plan_;
  std::vector<const Node*> steps_;
  std::vector<std::pair<const Node*, int>> step_of_;
};

}  // namespace

std::vector<StepSharing> choose_sharing(const Graph& graph, const Bindings& bindings,
                                        const ServesStep& serves) {
  return Chooser(graph, bindings, serves).run();
}

}  // namespace wootz
