// SPDX-License-Identifier: Apache-2.0
#include "runtime/explain_work.h"

#include <algorithm>
#include <unordered_map>

#include "device/region.h"
#include "ops/registry.h"

namespace wootz {
namespace {

double flops_of_node(const Node& node, const Bindings& bindings) {
  std::vector<Dims> inputs, outputs;
  for (const Value* v : node.inputs()) {
    auto dims = v ? concrete_dims(*v, bindings) : Dims{};
    if (!dims) return 0;
    inputs.push_back(std::move(*dims));
  }
  double elements = 0;
  for (const Value* v : node.outputs()) {
    auto dims = v ? concrete_dims(*v, bindings) : Dims{};
    if (!dims) return 0;
    if (v) elements += static_cast<double>(element_count(*dims));
    outputs.push_back(std::move(*dims));
  }
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->flops ? def->flops(node, inputs, outputs) : elements;
}

double bytes_of(const Value* value, const ShapePlan& plan) {
  if (!value) return 0;
  const Placement& p = plan.values[static_cast<size_t>(value->id())];
  if (p.kind == Placement::Kind::kDynamic || p.kind == Placement::Kind::kAbsent) return 0;
  return static_cast<double>(p.desc.size()) * static_cast<double>(dtype_size(p.desc.dtype));
}

}  // namespace

StepWork work_of_step(const Node& node, const ShapePlan& plan, const Bindings& bindings) {
  StepWork work;
  if (is_region(node))
    for (const auto& n : region_body(node).nodes()) work.flops += flops_of_node(*n, bindings);
  else
    work.flops = flops_of_node(node, bindings);
  std::vector<const Value*> seen;
  for (const Value* v : node.inputs()) {
    if (std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
    seen.push_back(v);
    work.bytes += bytes_of(v, plan);
  }
  for (const Value* v : node.outputs()) work.bytes += bytes_of(v, plan);
  return work;
}

std::vector<ValueSpan> arena_spans(const Graph& graph, const ShapePlan& plan) {
  std::vector<ValueSpan> spans;
  std::unordered_map<const Value*, size_t> index;
  size_t step = 0;
  for (const auto& node : graph.nodes()) {
    for (const Value* v : node->inputs())
      if (auto it = index.find(v); it != index.end()) spans[it->second].last = step;
    for (const Value* v : node->outputs()) {
      if (!v) continue;
      const Placement& p = plan.values[static_cast<size_t>(v->id())];
      if (p.kind != Placement::Kind::kArena) continue;
      index[v] = spans.size();
      spans.push_back(
          {v, p.offset_bytes, static_cast<size_t>(p.desc.size()) * dtype_size(p.desc.dtype), step, step});
    }
    ++step;
  }
  return spans;
}

}  // namespace wootz
