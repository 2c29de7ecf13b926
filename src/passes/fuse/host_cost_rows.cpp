// SPDX-License-Identifier: Apache-2.0
// Norms, softmaxes, reductions and pools: a cost an element, one a row or pixel. Nanoseconds are of one core;
// constants are fitted to raced regions (docs/notes/cost-model.md).
#include <algorithm>

#include "passes/fuse/host_region.h"

namespace wootz {
namespace {

size_t axis_of(const Node& node, int64_t fallback, size_t rank) {
  const int64_t axis = node.attributes.get<int64_t>("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

double extent(const Dims& dims, size_t first, size_t last) {
  double n = 1;
  for (size_t i = first; i < last && i < dims.size(); ++i) n *= static_cast<double>(dims[i]);
  return n;
}

double layer_norm_us(const HostRegion& region, const Dims& x, double elements) {
  const double rows = extent(x, 0, axis_of(region.first(), -1, x.size()));
  const double cold = region.constant_bytes() > 0 ? 0.36 + region.constant_bytes() / 30e3 : 0;
  return 0.3 + cold + region.spread((elements * 0.158 + rows * 30) * 1e-3, elements * 0.5e-3, 0.27);
}

/// A group of few channels fills few lanes; two passes over more than the near caches.
double channel_norm_us(const HostRegion& region, const Dims& x, double elements) {
  const auto groups = static_cast<double>(region.first().attributes.get<int64_t>("num_groups", x[1]));
  const double ns = 0.64 + 0.47 * groups / static_cast<double>(x[1]);
  return 0.02 + region.spread(elements * ns * (elements > 30000 ? 1.89e-3 : 1e-3), elements * 0.5e-3, 22.7);
}

double softmax_us(const HostRegion& region, const Dims& x, double elements) {
  const size_t axis = axis_of(region.first(), -1, x.size());
  const double rows = axis < x.size() ? elements / std::max(1.0, static_cast<double>(x[axis])) : 1;
  return 0.1 + region.spread((elements * 0.43 + rows * 12) * 1e-3, elements * 0.7e-3, 1);
}

double reduction_us(const HostRegion& region, const Dims& x, double elements) {
  const Value* in = region.first().input(0);
  const Value* out = region.first().output(0);
  const double kept = std::max(1.0, region.elements(out)), reduced = elements / kept;
  const Dims y = region.dims(out);
  // Neighbours are kept and summed side by side, or a row becomes one element.
  const bool side_by_side = in->layout == Layout::kChannelsLast || (!y.empty() && y.back() == x.back());
  double us =
      elements * 0.05e-3 + (side_by_side ? reduced * 4.5e-3 * std::max(1.0, kept / 256) : kept * 4e-3);
  if (in->type.dtype == DType::kFloat16 || in->type.dtype == DType::kBFloat16) us += elements * 2.3e-3;
  return 0.08 + region.spread(us, elements * 0.15e-3 + kept * 2e-3, 1.6);
}

double pool_us(const HostRegion& region, const Dims& x) {
  const double taps = extent(region.first().attributes.get<Ints>("kernel_shape", {}), 0, 8),
               results = region.elements(region.first().output(0)), channels = static_cast<double>(x[1]);
  const double pixel_ns = 17.4 + channels * (taps * 0.041 + 0.426);
  return region.spread(results / channels * pixel_ns * 1e-3, results * taps * 0.1e-3, 1.4);
}

}  // namespace

double host_rows_us(const HostRegion& region) {
  const Node& node = region.first();
  const Dims x = node.inputs().empty() ? Dims{} : region.dims(node.input(0));
  if (x.empty() || !node.domain.empty()) return -1;
  const double elements = extent(x, 0, x.size());
  if (node.is("LayerNormalization") || node.is("RMSNormalization")) return layer_norm_us(region, x, elements);
  if (node.is("Softmax") || node.is("LogSoftmax")) return softmax_us(region, x, elements);
  if (node.op.starts_with("Reduce") || node.op.starts_with("Global"))
    return reduction_us(region, x, elements);
  if (x.size() < 3) return -1;
  if (node.is("InstanceNormalization") || node.is("GroupNormalization"))
    return channel_norm_us(region, x, elements);
  return node.is("MaxPool") || node.is("AveragePool") ? pool_us(region, x) : -1;
}

}  // namespace wootz
