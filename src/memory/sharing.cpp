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
  Chooser(const Graph& graph, const Bindings& bindings, const ServesStep& serves, const Bindings* more_rows)
      : graph_(graph),
        bindings_(bindings),
        more_rows_(more_rows),
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
        if (try_into_output(step, *inner) || try_concat_of_views(step, *inner) || try_view(step, *inner) ||
            try_pull(step, *inner))
          continue;
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

  /// Keeps the decision for the steps if all that touch the changed values still have a kernel.
  bool keep_if_served(std::span<const size_t> steps, StepSharing decision,
                      std::span<const Value* const> changed) {
    const std::vector<StepSharing> before = sharing_;
    for (size_t step : steps) sharing_[step] = decision;
    if (is_served(steps, decision.kind, changed)) return true;
    sharing_ = before;
    return false;
  }

  bool is_served(std::span<const size_t> steps, Sharing kind, std::span<const Value* const> changed) {
    ShapePlan next = plan_strides(graph_, bindings_, sharing_);
    for (size_t step : steps)
      if (next.sharing[step].kind != kind) return false;
    std::vector<const Node*> touched;
    for (const Value* v : changed) {
      if (v->producer()) touched.push_back(v->producer());
      for (const Use& use : v->uses()) touched.push_back(use.node);
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const Node* node : touched) {
      if (node->graph() != &graph_) return false;
      const size_t s = step_of(node);
      if (plan_.interpreted[s] || runs_nothing(sharing_[s])) continue;
      const Problem now = problem_of(*node, next, 1), before = problem_of(*node, plan_, 1);
      if (!serves_(*node, now.inputs, now.outputs) && serves_(*node, before.inputs, before.outputs))
        return false;
    }
    plan_ = std::move(next);
    for (const Value* v : changed) linked_[static_cast<size_t>(v->id())] = 1;
    return true;
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
      if (!view_of_output(inner, i, operands_of(node, p.inputs), p.outputs[0])) return false;
      changed.push_back(in);
    }
    return keep_if_served(std::span(&step, 1), {Sharing::kIntoOutput, 0}, changed);
  }

  /// A concat behind views of values that nothing else reads (detection heads of several scales): their
  /// kernels write into the concat's result. Products keep the rows of an image together.
  bool try_concat_of_views(size_t step, const Node& inner) {
    if (!inner.is("Concat")) return false;
    std::vector<size_t> steps{step};
    std::vector<const Value*> changed, products;
    for (const Value* value : steps_[step]->inputs()) {
      for (;; value = value->producer()->input(0)) {
        if (!value || !value->producer() || value->uses().size() != 1 || graph_.is_output(value) ||
            value->producer()->graph() != &graph_)
          return false;
        changed.push_back(value);
        const size_t above = step_of(value->producer());
        if (sharing_[above].kind != Sharing::kView) break;
        if (value->producer()->outputs().size() != 1) return false;
        steps.push_back(above);
      }
      const size_t above = step_of(value->producer());
      if (is_linked(value) || sharing_[above].kind != Sharing::kNone || plan_.interpreted[above] ||
          at(value).kind != Placement::Kind::kArena)
        return false;
      if (value->producer()->attributes.get<std::string>("kind", "") == "contraction")
        products.push_back(value);
    }
    const ShapePlan before = plan_;
    const std::vector<StepSharing> sharing = sharing_;
    const std::vector<char> linked = linked_;
    if (steps.size() == 1 || !keep_if_served(steps, {Sharing::kIntoOutput, 0}, changed)) return false;
    const auto keeps_rows = [&](const Value* v) {
      const TensorDesc &now = at(v).desc, &was = before.values[static_cast<size_t>(v->id())].desc;
      for (size_t d = 1; d < now.dims.size(); ++d)
        if (now.dims[d] != 1 && now.strides[d] != was.strides[d]) return false;
      return true;
    };
    if (std::all_of(products.begin(), products.end(), keeps_rows) && serves_more_rows(products)) return true;
    plan_ = before, sharing_ = sharing, linked_ = linked;
    return false;
  }

  /// Whether the values' kernels serve a larger batch too: images of a concat lie apart, which a single one
  /// does not show.
  bool serves_more_rows(std::span<const Value* const> values) const {
    if (!more_rows_ || values.empty()) return true;
    const ShapePlan plan = plan_strides(graph_, *more_rows_, sharing_);
    return std::all_of(values.begin(), values.end(), [&](const Value* v) {
      const Problem p = problem_of(*v->producer(), plan, 1);
      return serves_(*v->producer(), p.inputs, p.outputs);
    });
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
      const auto view = view_of_input(inner, i, operands_of(node, p.inputs), p.outputs[i].dims);
      if (!view) return false;
      changed.push_back(out);
    }
    return keep_if_served(std::span(&step, 1), {Sharing::kView, 0}, changed);
  }

  /// A reshape that would copy, behind views of a value that nothing else reads: the value's kernel writes
  /// the elements where the reshape wants them (attention's heads side by side). Products keep rows that
  /// follow each other: their fast kernels write nothing else.
  bool try_pull(size_t step, const Node& inner) {
    const Value* value = steps_[step]->input(0);
    if (!is_reshape(inner)) return false;
    std::vector<size_t> steps{step};
    std::vector<const Value*> changed;
    for (; value && value->producer() && value->uses().size() == 1 && !graph_.is_output(value);
         value = value->producer()->input(0)) {
      changed.push_back(value);
      const size_t above = step_of(value->producer());
      if (sharing_[above].kind == Sharing::kView && value->producer()->outputs().size() == 1) {
        steps.push_back(above);
        continue;
      }
      if (steps.size() == 1 || is_linked(value) || sharing_[above].kind != Sharing::kNone ||
          plan_.interpreted[above] || at(value).kind != Placement::Kind::kArena ||
          value->producer()->attributes.get<std::string>("kind", "") == "contraction")
        return false;
      return keep_if_served(steps, {Sharing::kIntoOutput, 0}, changed);
    }
    return false;
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
  const Bindings* more_rows_;
  const ServesStep& serves_;
  std::vector<StepSharing> sharing_;
  std::vector<char> linked_;
  ShapePlan plan_;
  std::vector<const Node*> steps_;
  std::vector<std::pair<const Node*, int>> step_of_;
};

}  // namespace

std::vector<StepSharing> choose_sharing(const Graph& graph, const Bindings& bindings,
                                        const ServesStep& serves, const Bindings* more_rows) {
  return Chooser(graph, bindings, serves, more_rows).run();
}

}  // namespace wootz
