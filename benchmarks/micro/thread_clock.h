// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ctime>

namespace wootz {

/// Microseconds. One thread is timed by its processor time, which other processes disturb little; several by
/// the wall clock.
inline double now_us(int threads) {
  timespec t{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

}  // namespace wootz
