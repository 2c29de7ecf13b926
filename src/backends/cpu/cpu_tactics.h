// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// The CPU backend's tactics, best guess first. Each kernels/<family>/<name>_tactic.cpp adds its own
/// through `void cpu_<name>_tactic::register_tactic(CpuTactics&)`, called by the generated manifest.
class CpuTactics {
 public:
  /// Where several tactics serve a problem, the higher preference is the untuned choice: kSpecial for those
  /// that serve few problems well, kLast for those that serve much but seldom best; the reference comes after
  /// all.
  enum Preference { kReference = -2, kLast = -1, kGeneral = 0, kSpecial = 1 };
  void add(std::unique_ptr<Tactic> tactic, Preference preference = kGeneral) {
    const auto at = std::upper_bound(preferences_.begin(), preferences_.end(), preference, std::greater<>());
    owned_.insert(owned_.begin() + (at - preferences_.begin()), std::move(tactic));
    preferences_.insert(at, preference);
  }
  const std::vector<std::unique_ptr<Tactic>>& all() const { return owned_; }

 private:
  std::vector<std::unique_ptr<Tactic>> owned_;  // by falling preference
  std::vector<int> preferences_;
};

void register_all_cpu_tactics(CpuTactics& tactics);

}  // namespace wootz
