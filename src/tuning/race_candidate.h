// SPDX-License-Identifier: Apache-2.0
// What the two halves of the race share.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "tuning/race.h"

namespace wootz {

struct Race::Candidate {
  const Tactic* tactic;
  TacticConfig config;
  Packed packed;
  std::unique_ptr<Kernel> kernel;
  CandidateRecord record;
  std::vector<double> times_us;
  bool is_out = false;      // failed a check; while timing: too slow for more rounds
  bool is_checked = false;  // on random inputs

  bool runs() const { return kernel && !is_out; }
  double best_us() const {
    return times_us.empty() ? 0 : *std::min_element(times_us.begin(), times_us.end());
  }
};

inline constexpr double kDropRatio = 1.25;  // behind the best so far
inline constexpr double kFailedUs = 1e12;   // in the timing cache: did not compile or pass its check

}  // namespace wootz
