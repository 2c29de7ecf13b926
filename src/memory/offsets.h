// SPDX-License-Identifier: Apache-2.0
// Lifetimes in, offsets out: a pure function.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace wootz {

/// A buffer that must exist from step `first` to step `last`, both included.
struct Lifetime {
  size_t size_bytes = 0;
  int first = 0;
  int last = 0;
};

struct OffsetPlan {
  std::vector<size_t> offsets;  // bytes, multiples of the alignment, in the order of the lifetimes
  size_t peak_bytes = 0;
  size_t live_bound_bytes = 0;  // the largest sum of sizes alive at one step: no plan can be smaller
};

/// Places buffers so that no two that are alive together overlap. Tries several greedy orders (largest first,
/// longest first, by start; each into the lowest gap that fits) and keeps the smallest. Deterministic.
OffsetPlan plan_offsets(std::span<const Lifetime> lifetimes, size_t alignment = 64);

/// Indices of the buffers from the lowest offset up: which lies above which, whatever the sizes.
std::vector<size_t> stacking_order(const OffsetPlan& plan);

/// Places buffers in `order` (a permutation), each on top of all earlier ones that are alive with it:
/// offset(v) = max over those u of offset(u) + size(u). This max-plus expression holds for any sizes. With
/// the sizes that the order was made at, the peak is at most that plan's.
OffsetPlan stack_offsets(std::span<const Lifetime> lifetimes, std::span<const size_t> order,
                         size_t alignment = 64);

/// As many buffers as `plan` has stay where they are; the rest of `lifetimes` goes into the lowest gaps.
OffsetPlan fill_gaps(std::span<const Lifetime> lifetimes, const OffsetPlan& plan, size_t alignment = 64);

/// Buffers whose sizes add up to the peak, lowest first: each lies directly on the one before.
std::vector<size_t> peak_chain(std::span<const Lifetime> lifetimes, const OffsetPlan& plan,
                               size_t alignment = 64);

}  // namespace wootz
