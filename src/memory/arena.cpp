// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "memory/offsets.h"
#include "memory/placement.h"

namespace wootz {
namespace {

/// Gives the values that own arena memory, and the steps' workspaces, their offsets.
class Arena {
 public:
  Arena(const Graph& graph, ShapePlan& plan, std::span<const Value* const> stacking, size_t alignment)
      : graph_(graph), plan_(plan), stacking_(stacking), alignment_(alignment) {}

  /// Graph outputs live in the caller's buffers where they own their storage; the rest of the arena is
  /// planned.
  void run(std::span<const size_t> workspaces) {
    find_outputs();
    find_lifetimes();
    add_workspaces(workspaces);
    const OffsetPlan offsets = place();
    move_values(offsets);
    plan_.workspaces.assign(workspaces.size(), 0);
    for (size_t i = owners_.size(); i < lifetimes_.size(); ++i)
      plan_.workspaces[static_cast<size_t>(lifetimes_[i].first)] = offsets.offsets[i];
    plan_.arena_bytes = offsets.peak_bytes;
    plan_.live_bound_bytes = offsets.live_bound_bytes;
  }

 private:
  Placement& at(const Value* v) { return plan_.values[static_cast<size_t>(v->id())]; }

  const Value* root(const Value* v) const {
    while (const Value* parent = plan_.storage[static_cast<size_t>(v->id())]) v = parent;
    return v;
  }

  void find_outputs() {
    output_of_.assign(plan_.values.size(), -1);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value* v = graph_.outputs()[i];
      if (at(v).kind == Placement::Kind::kArena && root(v) == v && at(v).desc.is_row_major() &&
          output_of_[static_cast<size_t>(v->id())] < 0)
        output_of_[static_cast<size_t>(v->id())] = static_cast<int>(i);
    }
  }

  void find_lifetimes() {
    std::vector<int> first(plan_.values.size(), INT32_MAX), last(plan_.values.size(), -1);
    int step = 0;
    const auto touch = [&](const Value* v) {
      if (!v) return;
      const auto r = static_cast<size_t>(root(v)->id());
      first[r] = std::min(first[r], step);
      last[r] = std::max(last[r], step);
    };
    for (const auto& node : graph_.nodes()) {
      for (const Value* v : node->inputs()) touch(v);
      for (const Value* v : node->outputs()) touch(v);
      ++step;
    }
    for (const Value* v : graph_.outputs()) touch(v);
    for (const auto& v : graph_.values()) {
      const auto id = static_cast<size_t>(v->id());
      if (at(v.get()).kind != Placement::Kind::kArena || root(v.get()) != v.get() || output_of_[id] >= 0)
        continue;
      const TensorDesc& d = at(v.get()).desc;
      lifetimes_.push_back({static_cast<size_t>(d.size()) * dtype_size(d.dtype), first[id], last[id]});
      owners_.push_back(v.get());
    }
  }

  void add_workspaces(std::span<const size_t> workspaces) {
    for (size_t step = 0; step < workspaces.size(); ++step)
      if (workspaces[step] > 0)
        lifetimes_.push_back({workspaces[step], static_cast<int>(step), static_cast<int>(step)});
  }

  /// Positions of the owners in the order of the given stacking; owners that it lacks (a view that does not
  /// hold at these shapes) come last.
  std::vector<size_t> stacked() const {
    std::vector<size_t> rank(plan_.values.size(), stacking_.size()), order(owners_.size());
    for (size_t i = 0; i < stacking_.size(); ++i) rank[static_cast<size_t>(stacking_[i]->id())] = i;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return rank[static_cast<size_t>(owners_[a]->id())] < rank[static_cast<size_t>(owners_[b]->id())];
    });
    return order;
  }

  OffsetPlan place() {
    const std::span<const Lifetime> values = std::span(lifetimes_).first(owners_.size());
    OffsetPlan offsets;
    if (!stacking_.empty())
      offsets = fill_gaps(lifetimes_, stack_offsets(values, stacked(), alignment_), alignment_);
    const auto most = static_cast<size_t>(kStackingSlack * static_cast<double>(offsets.live_bound_bytes));
    if (stacking_.empty() || offsets.peak_bytes > most) {
      const OffsetPlan anew = plan_offsets(lifetimes_, alignment_);
      plan_.is_planned_anew = !stacking_.empty() && anew.peak_bytes < offsets.peak_bytes;
      // Stacked in its own order a plan is never larger, and every buffer lies on another.
      if (stacking_.empty() || plan_.is_planned_anew)
        offsets = stack_offsets(lifetimes_, stacking_order(anew), alignment_);
    }
    for (size_t i : stacking_order(offsets))
      if (i < owners_.size()) plan_.stacking.push_back(owners_[i]);
    const std::vector<size_t> chain = peak_chain(lifetimes_, offsets, alignment_);
    if (std::all_of(chain.begin(), chain.end(), [&](size_t i) { return i < owners_.size(); }))
      for (size_t i : chain) plan_.peak_chain.push_back(owners_[i]);
    return offsets;
  }

  void move_values(const OffsetPlan& offsets) {
    std::vector<size_t> base(plan_.values.size(), 0);
    for (size_t i = 0; i < owners_.size(); ++i)
      base[static_cast<size_t>(owners_[i]->id())] = offsets.offsets[i];
    for (const auto& v : graph_.values()) {
      Placement& p = at(v.get());
      if (p.kind != Placement::Kind::kArena) continue;
      const auto r = static_cast<size_t>(root(v.get())->id());
      if (output_of_[r] >= 0)
        p.kind = Placement::Kind::kOutput, p.index = output_of_[r];
      else
        p.offset_bytes += base[r];
    }
  }

  const Graph& graph_;
  ShapePlan& plan_;
  std::span<const Value* const> stacking_;
  size_t alignment_;
  std::vector<int> output_of_;        // by value: the graph output that it is written as, or -1
  std::vector<Lifetime> lifetimes_;   // of the owners, then of the workspaces
  std::vector<const Value*> owners_;  // of arena memory
};

}  // namespace

void plan_arena(const Graph& graph, ShapePlan& plan, std::span<const Value* const> stacking,
                std::span<const size_t> workspaces, size_t alignment) {
  Arena(graph, plan, stacking, alignment).run(workspaces);
}

}  // namespace wootz
