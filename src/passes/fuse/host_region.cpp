// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/host_region.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "passes/fuse/grow.h"

namespace wootz {
namespace {

/// Of one core with 512-bit vectors, as CpuBackend states it.
constexpr double kCoreFlops = 118.4e9;
/// The kernels' own threshold: shorter work stays on one thread.
constexpr double kForkUs = 10;

/// Nanoseconds an element of vector code over tiles in the L1 cache, on one core. From raced regions of the
/// fitted half of the suite (docs/notes/cost-model.md).
constexpr double kSimpleNs = 0.0245, kExpNs = 0.27, kTanhNs = 0.75, kSineNs = 2.78;

double instruction_ns(const Node& node) {
  for (const char* op : {"Swish", "Sigmoid", "Silu", "Exp"})
    if (node.op == op) return kExpNs;
  for (const char* op : {"Tanh", "Erf", "Gelu", "Mish", "Softplus", "Log", "Pow", "Elu", "Selu", "Celu"})
    if (node.op == op) return kTanhNs;
  for (const char* op : {"Sin", "Cos", "Tan"})
    if (node.op == op) return kSineNs;
  return kSimpleNs;
}

}  // namespace

HostRegion::HostRegion(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target)
    : nodes_(nodes), sizes_(sizes) {
  const bool forks = target.launch_seconds > 5e-7;
  if (forks) cores_ = std::max(2.0, std::round(target.flops_per_second / kCoreFlops));
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::unordered_set<const Value*> seen;
  for (const Node* n : nodes) {
    for (const Value* v : n->inputs())
      if (v && !inside.contains(v->producer()) && seen.insert(v).second) inputs_.push_back(v);
    for (const Value* v : n->outputs()) {
      if (!v) continue;
      const bool leaves =
          v->graph()->is_output(v) || std::any_of(v->uses().begin(), v->uses().end(),
                                                  [&](const Use& u) { return !inside.contains(u.node); });
      if (leaves) outputs_.push_back(v);
    }
  }
  for (const Value* v : inputs_) (v->is_constant() ? constant_bytes_ : activation_bytes_) += bytes(v);
  for (const Value* v : outputs_) activation_bytes_ += bytes(v);
}

Dims HostRegion::dims(const Value* v) const { return v ? sizes_.dims_of(*v).value_or(Dims{}) : Dims{}; }

double HostRegion::elements(const Value* v) const {
  double n = 1;
  for (int64_t d : dims(v)) n *= static_cast<double>(d);
  return n;
}

double HostRegion::fastest(const Value* v) const {
  const Dims d = dims(v);
  if (d.empty()) return 1;
  return static_cast<double>(v->layout == Layout::kChannelsLast && d.size() > 2 ? d[1] : d.back());
}

double HostRegion::output_elements() const {
  double n = 0;
  for (const Value* v : outputs_) n += elements(v);
  return n;
}

double HostRegion::pointwise_ns(const Node* main) const {
  double ns = 0;
  for (const Node* n : nodes_)
    if (n != main) ns += instruction_ns(*n);
  return ns;
}

double HostRegion::costly_nodes() const {
  return static_cast<double>(std::count_if(nodes_.begin(), nodes_.end(),
                                           [](const Node* n) { return instruction_ns(*n) > kSimpleNs; }));
}

double HostRegion::spread(double us, double guess_us, double fork_us) const {
  return cores_ > 1 && guess_us >= kForkUs ? us / cores_ + fork_us : us;
}

double host_seconds(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target) {
  const HostRegion region(nodes, sizes, target);
  if (region.outputs().empty()) return -1;
  for (const Node* n : nodes) {
    if (!is_contraction(*n)) continue;
    const bool is_conv = n->is("Conv") || n->is("ConvTranspose") || n->is("ConvInteger");
    return 1e-6 * (is_conv ? host_convolution_us(region, *n) : host_product_us(region, *n));
  }
  if (std::all_of(nodes.begin(), nodes.end(), [](const Node* n) { return is_pointwise(*n); }))
    return 1e-6 * host_pointwise_us(region);
  if (nodes.size() > 1) return -1;
  const Node& node = region.first();
  if (node.is("wootz", "Attention")) return 1e-6 * host_attention_us(region);
  if (node.is("LSTM") || node.is("GRU")) return 1e-6 * host_recurrence_us(region);
  if (const double us = host_rows_us(region); us >= 0) return 1e-6 * us;
  for (const char* op : {"Transpose", "Concat", "Split", "Slice", "Pad", "Expand", "Tile", "DepthToSpace",
                         "SpaceToDepth", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Gather", "Resize"})
    if (node.is(op)) return 1e-6 * host_movement_us(region);
  return node.is("wootz", "Relayout") ? 1e-6 * host_movement_us(region) : -1;
}

}  // namespace wootz
