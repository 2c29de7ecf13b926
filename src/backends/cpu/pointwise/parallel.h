// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/thread_pool.h"

namespace wootz {

/// Work below this is not worth a fork (prototypes: a fork costs up to a microsecond, an uneven join more).
inline constexpr double kForkSeconds = 10e-6;

/// Calls f(begin, end), or f(begin, end, part) with part < pool.threads(), over [0, count) in ranges whose
/// bounds are multiples of `grain`: on the caller alone where `seconds` of work in all do not pay for a fork,
/// otherwise one range per thread.
template <class F>
void parallel_ranges(ThreadPool& pool, int64_t count, int64_t grain, double seconds, F&& f) {
  if (count <= 0) return;
  const int64_t grains = (count + grain - 1) / grain;
  const auto call = [&f](int64_t begin, int64_t end, [[maybe_unused]] int part) {
    if constexpr (std::is_invocable_v<F, int64_t, int64_t, int>)
      f(begin, end, part);
    else
      f(begin, end);
  };
  if (pool.threads() == 1 || grains == 1 || seconds < kForkSeconds) return call(0, count, 0);
  pool([&](int part, int parts) {
    const int64_t begin = grains * part / parts * grain;
    const int64_t end = std::min(count, grains * (part + 1) / parts * grain);
    if (begin < end) call(begin, end, part);
  });
}

}  // namespace wootz
