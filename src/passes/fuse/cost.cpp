// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/cost.h"

#include <algorithm>
#include <unordered_set>

#include "ops/registry.h"
#include "passes/fuse/host_region.h"
#include "passes/launches.h"

namespace wootz {
namespace {

/// Share of the peak that contractions reach, and how much faster the last-level cache is than memory.
constexpr double kFlopsEfficiency = 0.94;
constexpr double kCacheSpeedup = 2.5;
/// Used where a backend does not say.
constexpr double kDefaultFlops = 1e11, kDefaultBytes = 1e10;

/// 3x3 convolutions of stride 1 over many channels run by Winograd's algorithm, which multiplies less.
double winograd_saving(const Node& node, const std::vector<Dims>& inputs) {
  if (!node.is("Conv") || node.attributes.get<int64_t>("group", 1) != 1 || inputs.size() < 2 ||
      inputs[1].size() != 4)
    return 1;
  const Dims& w = inputs[1];
  const Ints strides = node.attributes.get<Ints>("strides", {}),
             dilations = node.attributes.get<Ints>("dilations", {});
  const auto all_one = [](const Ints& v) {
    return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == 1; });
  };
  return w[0] >= 16 && w[1] >= 16 && w[2] == 3 && w[3] == 3 && all_one(strides) && all_one(dilations) ? 2.3
                                                                                                      : 1;
}

double flops_of(const Node& node, const SizeModel& sizes) {
  std::vector<Dims> inputs, outputs;
  bool known = true;  // operators count on operands of a rank that inference let pass
  const auto add = [&](std::vector<Dims>& list, const Value* v) {
    const std::optional<Dims> dims = v ? sizes.dims_of(*v) : Dims{};
    known = known && dims;
    list.push_back(dims.value_or(Dims{}));
  };
  for (const Value* v : node.inputs()) add(inputs, v);
  for (const Value* v : node.outputs()) add(outputs, v);
  const OpDef* def = OpRegistry::global().find(node);
  if (def && def->flops && known) return def->flops(node, inputs, outputs) / winograd_saving(node, inputs);
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
      const bool leaves =
          v->graph()->is_output(v) || std::any_of(v->uses().begin(), v->uses().end(),
                                                  [&](const Use& u) { return !inside.contains(u.node); });
      if (leaves) work.bytes += sizes.bytes_of(*v);
    }
  }
  return work;
}

double predicted_seconds(const Work& work, const TargetTraits& target) {
  const double flops_per_second =
      kFlopsEfficiency * (target.flops_per_second > 0 ? target.flops_per_second : kDefaultFlops);
  double bytes_per_second = target.bytes_per_second > 0 ? target.bytes_per_second : kDefaultBytes;
  if (work.bytes < static_cast<double>(target.cache_bytes) / 2) bytes_per_second *= kCacheSpeedup;
  return target.launch_seconds + std::max(work.flops / flops_per_second, work.bytes / bytes_per_second);
}

double region_seconds(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target) {
  const double seconds = has_dear_launches(target) ? -1 : host_seconds(nodes, sizes, target);
  return seconds >= 0 ? seconds : predicted_seconds(work_of(nodes, sizes), target);
}

}  // namespace wootz
