// SPDX-License-Identifier: Apache-2.0
#include "memory/offsets.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace wootz {
namespace {

size_t round_up(size_t n, size_t alignment) { return (n + alignment - 1) / alignment * alignment; }

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

size_t place_in_order(std::span<const Lifetime> lifetimes, std::span<const size_t> sizes,
                      std::span<const size_t> order, std::vector<size_t>& offsets) {
  size_t peak = 0;
  std::vector<size_t> placed;
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
  std::vector<size_t> sizes(n), order(n), offsets(n);
  for (size_t i = 0; i < n; ++i) sizes[i] = round_up(lifetimes[i].size_bytes, alignment);
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

}  // namespace wootz
