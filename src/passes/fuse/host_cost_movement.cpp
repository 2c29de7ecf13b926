// SPDX-License-Identifier: Apache-2.0
// Pointwise regions and what only moves elements: a cost an element and stream, one a run that lies side by
// side. Nanoseconds are of one core; constants are fitted to raced regions (docs/notes/cost-model.md).
#include <algorithm>

#include "passes/fuse/host_region.h"

namespace wootz {
namespace {

constexpr double kColdGbs = 23;  // what was evicted, read again

/// Dims in the order in which they lie in memory, widened to `rank`.
Dims in_memory(const HostRegion& region, const Value* v, size_t rank) {
  Dims d = region.dims(v);
  d.insert(d.begin(), rank - std::min(rank, d.size()), 1);
  if (v->layout == Layout::kChannelsLast && d.size() > 2) std::rotate(d.begin() + 1, d.begin() + 2, d.end());
  return d;
}

/// Elements over which every operand moves along with the result or stays.
double broadcast_run(const HostRegion& region, const Value* result) {
  const size_t rank = region.dims(result).size();
  const bool turned = result->layout == Layout::kChannelsLast && rank > 2;
  const Dims out = in_memory(region, result, rank);
  std::vector<Dims> operands;
  for (const Value* v : region.inputs()) {
    Dims d = region.dims(v);
    if (d.size() > rank) return 1;
    d.insert(d.begin(), rank - d.size(), 1);
    if (turned) std::rotate(d.begin() + 1, d.begin() + 2, d.end());
    operands.push_back(std::move(d));
  }
  std::vector<int> moves(operands.size(), -1);
  double run = 1;
  for (size_t axis = rank; axis-- > 0;) {
    if (out[axis] == 1) continue;
    for (size_t k = 0; k < operands.size(); ++k) {
      const int moving = operands[k][axis] == out[axis];
      if (moves[k] >= 0 && moves[k] != moving) return run;
      moves[k] = moving;
    }
    run *= static_cast<double>(out[axis]);
  }
  return run;
}

/// Elements that a movement copies as one piece.
double copied_run(const HostRegion& region, const Node& node) {
  const Value* out = node.output(0);
  const Value* in = node.input(0);
  if (node.is("Reshape") || node.is("Flatten"))
    return region.fastest(in);  // what it reads is a transposed view
  if (node.is("Transpose")) {
    const Ints perm = node.attributes.get<Ints>("perm", {});
    const Dims d = region.dims(out);
    double run = 1;
    for (size_t axis = perm.size(); axis-- > 0 && axis < d.size();) {
      if (perm[axis] != static_cast<int64_t>(axis) && d[axis] != 1) break;
      run *= static_cast<double>(d[axis]);
    }
    return run;
  }
  if (!node.is("Concat") && !node.is("Pad") && !node.is("Expand") && !node.is("Tile"))
    return region.fastest(out);
  const size_t rank = region.dims(out).size();
  const Dims to = in_memory(region, out, rank), from = in_memory(region, in, rank);
  double run = 1;
  for (size_t axis = rank; axis-- > 0;) {
    run *= static_cast<double>(std::min(to[axis], from[axis]));
    if (to[axis] != from[axis]) break;
  }
  return run;
}

/// Between row-major and channels last: small squares are turned in registers.
double relayout_ns(const HostRegion& region, const Value* out) {
  const Dims d = region.dims(out);
  double channels = d.size() > 1 ? static_cast<double>(d[1]) : 1, pixels = 1;
  for (size_t i = 2; i < d.size(); ++i) pixels *= static_cast<double>(d[i]);
  double ns = channels < 16 ? 0.12 * (1 + 9 / channels) : 0.12;
  // Planes whose starts fall on the same cache lines throw each other out.
  const bool collides =
      out->layout == Layout::kChannelsLast && channels >= 16 && static_cast<int64_t>(pixels) % 1024 == 0;
  return collides ? ns * 4.7 : ns;
}

/// A view whose rows are pieces of longer ones.
bool is_part_of_rows(const HostRegion& region, const Value* v) {
  const Node* p = v->producer();
  if (!p || v->is_constant() || v->layout == Layout::kChannelsLast) return false;
  const bool cuts = p->is("Split") || p->is("Slice");
  return cuts && region.fastest(v) < region.fastest(p->input(0)) && region.elements(v) > region.fastest(v);
}

bool runs_in_lanes(DType t) { return t == DType::kInt64 || t == DType::kInt32 || t == DType::kFloat64; }

}  // namespace

double host_pointwise_us(const HostRegion& region) {
  constexpr double kStreamNs = 0.031, kLaneNs = 0.31, kConvertNs = 0.29, kRunNs = 5.7, kChunkNs = 2,
                   kViewRunNs = 80;
  const Value* result = region.outputs().front();
  const double n = region.elements(result);
  const double costly = region.costly_nodes();
  double streams = static_cast<double>(region.outputs().size()), converted = 0;
  bool lanes = false;
  const auto look = [&](const Value* v) {
    lanes = lanes || runs_in_lanes(v->type.dtype);
    converted += region.elements(v) > 1 && v->type.dtype != DType::kFloat32;
  };
  for (const Value* v : region.outputs()) look(v);
  for (const Value* v : region.inputs()) look(v), streams += region.elements(v) > 1;
  const auto nodes = static_cast<double>(region.nodes().size());
  const double ns = lanes ? kLaneNs * (streams + nodes)
                          : kStreamNs * streams + region.pointwise_ns() + converted * kConvertNs;
  // The kernel's own count: a costly instruction is worth ten.
  const double guess = n * (0.1 * streams + (lanes ? 1 : 0.05) * (nodes + 9 * costly)) * 1e-3;
  double run = std::max(1.0, broadcast_run(region, result));
  const bool in_chunks = run < 256 && run >= 4 && region.inputs().size() <= 5;
  double run_ns = in_chunks ? kChunkNs : kRunNs;
  for (const Value* v : region.inputs())
    if (is_part_of_rows(region, v)) run = std::min(run, region.fastest(v)), run_ns = kViewRunNs;
  const double us = (n * ns + n / run * run_ns) * 1e-3;
  const double cold = region.constant_bytes() > 8 ? 0.28 + region.constant_bytes() / kColdGbs * 1e-3 : 0;
  return 0.059 + 0.012 * nodes + cold + region.spread(us, guess, 0.25);
}

double host_movement_us(const HostRegion& region) {
  constexpr double kElementNs = 0.05, kRunNs = 7, kAloneNs = 0.31;  // of four bytes
  constexpr double kManyBytes = 12e6, kManyTimes = 2.2;             // beyond the shared cache's share
  constexpr double kPiecesTimes = 1.4, kNearestTimes = 0.65, kLargeTable = 16e6;
  const Node& node = region.first();
  const Value* out = node.output(0);
  const double n = region.output_elements(), size = static_cast<double>(dtype_size(out->type.dtype));
  const double runs = n / std::max(1.0, copied_run(region, node));
  const bool is_relayout = node.is("wootz", "Relayout");
  double us = is_relayout ? n * relayout_ns(region, out) * 1e-3
                          : (n * size / 4 * kElementNs + std::min(runs * kRunNs, n * kAloneNs)) * 1e-3;
  if (region.activation_bytes() > kManyBytes) us *= kManyTimes;
  if (node.is("Concat")) us *= kPiecesTimes;
  if (node.is("Resize")) us *= kNearestTimes;
  const bool gathers = node.is("Gather");
  const double guess = gathers ? runs * 5e-3 + n * size / 6e3 : 2 * n * size / 8e3;
  us = 0.07 + region.spread(us, guess, is_relayout ? 0.7 : 1.4);
  if (node.is("Concat")) us += 0.016 * static_cast<double>(node.inputs().size() - 1);
  if (node.is("Pad") || node.is("Expand")) us += 0.12;
  // Timed on few different rows; after a large table is evicted nothing else is in the cache.
  if (gathers && node.input(0)->is_constant()) us += region.bytes(node.input(0)) > kLargeTable ? 10 : 0.3;
  return us;
}

}  // namespace wootz
