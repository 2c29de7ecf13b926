// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_plan.h"

#include <algorithm>

#include "base/alignment.h"

namespace wootz {
namespace {

constexpr size_t kAlignment = 256;  // what the driver gives, and tensor maps are content with

bool is_stored(const Placement& p) {
  return p.kind == Placement::Kind::kArena || p.kind == Placement::Kind::kInput ||
         p.kind == Placement::Kind::kOutput;
}

class Planner {
 public:
  Planner(const Graph& graph, const ShapePlan& plan, const std::vector<char>& on_host)
      : graph_(graph), plan_(plan), on_host_(on_host), uses_(plan.values.size()) {}

  DevicePlan run() {
    result_.input_to_device.assign(graph_.inputs().size(), 0);
    result_.input_to_host.assign(graph_.inputs().size(), 0);
    result_.output_from_host.assign(graph_.outputs().size(), 0);
    find_uses();
    size_t step = 0;
    for (const auto& node : graph_.nodes()) add_step(*node, step++);
    plan_outputs();
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      result_.input_offsets.push_back(take_room(at(graph_.inputs()[i])));
    for (const Value* v : graph_.outputs()) result_.output_offsets.push_back(take_room(at(v)));
    return std::move(result_);
  }

 private:
  struct Use {
    bool by_host = false;   // some host step made it
    bool off_host = false;  // a device step, a view of it or the caller reads it
  };

  const Placement& at(const Value* v) const { return plan_.values[static_cast<size_t>(v->id())]; }
  bool runs(size_t step) const { return plan_.interpreted[step] || !runs_nothing(plan_.sharing[step]); }

  void find_uses() {
    size_t step = 0;
    for (const auto& node : graph_.nodes()) {
      const bool host = runs(step) && on_host_[step];
      for (const Value* v : node->inputs())
        if (v && !host) uses_[static_cast<size_t>(v->id())].off_host = true;
      for (const Value* v : node->outputs())
        if (v && host) uses_[static_cast<size_t>(v->id())].by_host = true;
      ++step;
    }
    for (const Value* v : graph_.outputs()) uses_[static_cast<size_t>(v->id())].off_host = true;
  }

  void note_input(const Value* v, bool host) {
    const Placement& p = at(v);
    if (p.kind != Placement::Kind::kInput) return;
    (host ? result_.input_to_host : result_.input_to_device)[static_cast<size_t>(p.index)] = 1;
  }

  void add_step(const Node& node, size_t step) {
    if (!runs(step)) return;
    const bool host = on_host_[step];
    for (const Value* v : node.inputs())
      if (v) note_input(v, host);
    if (!host) {
      if (!result_.segments.empty() && result_.segments.back().on_device)
        result_.segments.back().last = step + 1;
      else
        result_.segments.push_back({step, step + 1, true, {}, {}});
      return;
    }
    DeviceSegment segment{step, step + 1, false, {}, {}};
    for (const Value* v : node.inputs())
      if (v && !is_on_host(v)) add(segment.downloads, v);
    for (const Value* v : node.outputs()) {
      if (!v || !is_stored(at(v))) continue;
      note_mirror(at(v));
      if (!uses_[static_cast<size_t>(v->id())].off_host) continue;
      // What lies between its elements belongs to others and goes back as it was.
      if (!span_of(at(v)).is_dense) add(segment.downloads, v);
      add(segment.uploads, v);
    }
    result_.segments.push_back(std::move(segment));
  }

  /// Whether the host has the value already when a host step asks: it made it, or the caller gave it.
  bool is_on_host(const Value* v) const {
    const Placement& p = at(v);
    if (!is_stored(p)) return true;
    return p.kind == Placement::Kind::kInput || uses_[static_cast<size_t>(v->id())].by_host;
  }

  void note_mirror(const Placement& p) {
    if (p.kind == Placement::Kind::kArena) result_.mirror_bytes = plan_.arena_bytes;
  }

  void add(std::vector<int>& list, const Value* v) {
    if (std::find(list.begin(), list.end(), v->id()) != list.end()) return;
    note_mirror(at(v));
    list.push_back(v->id());
  }

  void plan_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value* v = graph_.outputs()[i];
      const Placement& p = at(v);
      if (p.kind == Placement::Kind::kDynamic) continue;
      if (p.kind == Placement::Kind::kOutput && p.index == static_cast<int>(i)) continue;
      result_.output_from_host[i] = 1;
      if (p.kind == Placement::Kind::kInput) note_input(v, true);
      if (p.kind == Placement::Kind::kArena || p.kind == Placement::Kind::kOutput)
        add(result_.final_downloads, v);
    }
  }

  size_t take_room(const Placement& p) {
    const size_t at = result_.room_bytes;
    if (p.kind != Placement::Kind::kDynamic)
      result_.room_bytes +=
          round_up(static_cast<size_t>(p.desc.size()) * dtype_size(p.desc.dtype), kAlignment);
    return at;
  }

  const Graph& graph_;
  const ShapePlan& plan_;
  const std::vector<char>& on_host_;
  std::vector<Use> uses_;
  DevicePlan result_;
};

}  // namespace

ByteSpan span_of(const Placement& p) {
  const auto size = static_cast<int64_t>(dtype_size(p.desc.dtype));
  if (p.desc.size() == 0) return {p.offset_bytes, 0, true};
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < p.desc.dims.size(); ++d)
    (p.desc.strides[d] < 0 ? low : high) += (p.desc.dims[d] - 1) * p.desc.strides[d];
  const int64_t elements = high - low + 1;
  return {p.offset_bytes - static_cast<size_t>(-low * size), static_cast<size_t>(elements * size),
          elements == p.desc.size()};
}

DevicePlan plan_device(const Graph& graph, const ShapePlan& plan, const std::vector<char>& on_host) {
  return Planner(graph, plan, on_host).run();
}

}  // namespace wootz
