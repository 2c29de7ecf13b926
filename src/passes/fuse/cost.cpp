// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/cost.h"

#include <algorithm>
#include <unordered_set>

#include "ops/registry.h"

namespace wootz {
namespace {

/// Share of the peak that contractions reach, and how much faster the last-level cache is than memory.
constexpr double kFlopsEfficiency = 0.8;
constexpr double kCacheSpeedup = 2.5;
/// Used where a backend does not say.
constexpr double kDefaultFlops = 1e11, kDefaultBytes = 1e10;

double flops_of(const Node& node, const SizeModel& sizes) {
  std::vector<Dims> inputs, outputs;
  for (const Value* v : node.inputs()) inputs.push_back(v ? sizes.dims_of(*v).value_or(Dims{}) : Dims{});
  for (const Value* v : node.outputs()) outputs.push_back(v ? sizes.dims_of(*v).value_or(Dims{}) : Dims{});
  const OpDef* def = OpRegistry::global().find(node);
  if (def && def->flops) return def->flops(node, inputs, outputs);
  double elements = 0;
  for (const Dims& d : outputs) elements += static_cast<double>(element_count(d));
  return elements;
}

}  // namespace

Work work_of(std::span<Node* const> nodes, const SizeModel& sizes) {
  Work work;
  std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::unordered_set<const Value*> read;
  for (const Node* n : nodes) {
    work.flops += flops_of(*n, sizes);
    for (const Value* v : n->inputs())
      if (v && !inside.contains(v->producer()) && read.insert(v).second) work.bytes += sizes.bytes_of(*v);
    for (const Value* v : n->outputs()) {
      if (!v) continue;
      const bool leaves = v->graph()->is_output(v) || std::any_of(v->uses().begin(), v->uses().end(),
                                                                  [&](const Use& u) { return !inside.contains(u.node); });
      if (leaves) work.bytes += sizes.bytes_of(*v);
    }
  }
  return work;
}

double predicted_seconds(const Work& work, const TargetTraits& target) {
  const double flops_per_second = kFlopsEfficiency * (target.flops_per_second > 0 ? target.flops_per_second : kDefaultFlops);
  double bytes_per_second = target.bytes_per_second > 0 ? target.bytes_per_second : kDefaultBytes;
  if (work.bytes < static_cast<double>(target.cache_bytes) / 2) bytes_per_second *= kCacheSpeedup;
  return target.launch_seconds + std::max(work.flops / flops_per_second, work.bytes / bytes_per_second);
}

}  // namespace wootz
