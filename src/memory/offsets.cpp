// SPDX-License-Identifier: Apache-2.0
#include "memory/offsets.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/alignment.h"

namespace wootz {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// The lowest gap among the placed neighbours (sorted by offset) that holds `size`.
size_t lowest_gap(const std::vector<std::pair<size_t, size_t>>& neighbours, size_t size) {
  size_t at = 0;
  for (const auto& [begin, end] : neighbours) {
    if (begin >= at + size) break;
    at = std::max(at, end);
  }
  return at;
}

std::vector<size_t> rounded_sizes(std::span<const Lifetime> lifetimes, size_t alignment) {
  std::vector<size_t> sizes;
  for (const Lifetime& l : lifetimes) sizes.push_back(round_up(l.size_bytes, alignment));
  return sizes;
}

/// Puts the buffers of `order` into gaps between those already `placed`; returns where the highest of them
/// ends.
size_t place_in_order(std::span<const Lifetime> lifetimes, std::span<const size_t> sizes,
                      std::span<const size_t> order, std::vector<size_t>& offsets,
                      std::vector<size_t> placed = {}) {
  size_t peak = 0;
  std::vector<std::pair<size_t, size_t>> neighbours;
  for (size_t i : order) {
    neighbours.clear();
    for (size_t j : placed)
      if (overlap_in_time(lifetimes[i], lifetimes[j]))
        neighbours.emplace_back(offsets[j], offsets[j] + sizes[j]);
    std::sort(neighbours.begin(), neighbours.end());
    offsets[i] = sizes[i] ? lowest_gap(neighbours, sizes[i]) : 0;
    if (sizes[i]) placed.push_back(i);
    peak = std::max(peak, offsets[i] + sizes[i]);
  }
  return peak;
}

size_t live_bound(std::span<const Lifetime> lifetimes, std::span<const size_t> sizes) {
  std::vector<std::pair<int, ptrdiff_t>> events;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    events.emplace_back(lifetimes[i].first, static_cast<ptrdiff_t>(sizes[i]));
    events.emplace_back(lifetimes[i].last + 1, -static_cast<ptrdiff_t>(sizes[i]));
  }
  std::sort(events.begin(), events.end());  // ends (negative) come before starts of the same step
  ptrdiff_t live = 0, most = 0;
  for (const auto& [step, delta] : events) most = std::max(most, live += delta);
  return static_cast<size_t>(most);
}

}  // namespace

OffsetPlan plan_offsets(std::span<const Lifetime> lifetimes, size_t alignment) {
  const size_t n = lifetimes.size();
  const std::vector<size_t> sizes = rounded_sizes(lifetimes, alignment);
  std::vector<size_t> order(n), offsets(n);
  OffsetPlan plan;
  plan.offsets.assign(n, 0);
  plan.live_bound_bytes = live_bound(lifetimes, sizes);

  const auto length = [&](size_t i) { return size_t(lifetimes[i].last - lifetimes[i].first + 1); };
  using Less = std::function<bool(size_t, size_t)>;
  const Less orders[] = {
      [&](size_t a, size_t b) { return sizes[a] > sizes[b]; },
      [&](size_t a, size_t b) { return sizes[a] * length(a) > sizes[b] * length(b); },
      [&](size_t a, size_t b) { return lifetimes[a].first < lifetimes[b].first; },
      [&](size_t a, size_t b) { return length(a) > length(b); },
  };
  bool first = true;
  for (const Less& less : orders) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), less);
    const size_t peak = place_in_order(lifetimes, sizes, order, offsets);
    if (first || peak < plan.peak_bytes) plan.peak_bytes = peak, plan.offsets = offsets;
    first = false;
    if (plan.peak_bytes == plan.live_bound_bytes) break;
  }
  return plan;
}

std::vector<size_t> stacking_order(const OffsetPlan& plan) {
  std::vector<size_t> order(plan.offsets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
  return order;
}

OffsetPlan stack_offsets(std::span<const Lifetime> lifetimes, std::span<const size_t> order,
                         size_t alignment) {
  const std::vector<size_t> sizes = rounded_sizes(lifetimes, alignment);
  OffsetPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  plan.live_bound_bytes = live_bound(lifetimes, sizes);
  for (size_t k = 0; k < order.size(); ++k) {
    const size_t v = order[k];
    if (sizes[v] == 0) continue;
    for (size_t u : order.first(k))
      if (overlap_in_time(lifetimes[u], lifetimes[v]))
        plan.offsets[v] = std::max(plan.offsets[v], plan.offsets[u] + sizes[u]);
    plan.peak_bytes = std::max(plan.peak_bytes, plan.offsets[v] + sizes[v]);
  }
  return plan;
}

OffsetPlan fill_gaps(std::span<const Lifetime> lifetimes, const OffsetPlan& plan, size_t alignment) {
  const std::vector<size_t> sizes = rounded_sizes(lifetimes, alignment);
  std::vector<size_t> placed, order;
  for (size_t i = 0; i < plan.offsets.size(); ++i)
    if (sizes[i]) placed.push_back(i);
  for (size_t i = plan.offsets.size(); i < sizes.size(); ++i) order.push_back(i);
  OffsetPlan filled;
  filled.offsets = plan.offsets;
  filled.offsets.resize(sizes.size(), 0);
  filled.live_bound_bytes = live_bound(lifetimes, sizes);
  filled.peak_bytes =
      std::max(plan.peak_bytes, place_in_order(lifetimes, sizes, order, filled.offsets, std::move(placed)));
  return filled;
}

std::vector<size_t> peak_chain(std::span<const Lifetime> lifetimes, const OffsetPlan& plan,
                               size_t alignment) {
  const std::vector<size_t> sizes = rounded_sizes(lifetimes, alignment);
  std::vector<size_t> chain;
  size_t top = plan.peak_bytes;
  while (top > 0) {
    const auto reaches = [&](size_t v) {
      return sizes[v] > 0 && plan.offsets[v] + sizes[v] == top &&
             (chain.empty() || overlap_in_time(lifetimes[v], lifetimes[chain.back()]));
    };
    size_t v = 0;
    while (v < sizes.size() && !reaches(v)) ++v;
    if (v == sizes.size()) return {};  // a gap below: the plan was not made by stacking
    chain.push_back(v);
    top = plan.offsets[v];
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace wootz
